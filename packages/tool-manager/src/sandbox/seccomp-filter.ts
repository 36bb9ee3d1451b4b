import {
  assemble,
  giveBack,
  type Instruction,
  ifAnyBit,
  ifAtLeast,
  ifEqual,
  loadArchitecture,
  loadArgument,
  loadNumber,
  unlessAnyBit,
  unlessEqual,
} from './bpf.ts'
import { auditArchitecture, findNumber, type Machine, type SystemCall } from './system-call.ts'

export type FilterRules = {
  /** Whether the program may start others; threads are always allowed. */
  spawn: boolean
  /** Whether it may open unix sockets. Never where it could reach one of the host's. */
  unixSockets: boolean
  /** Whether it may ask the kernel for its network interfaces. Only where the network is the box's own. */
  interfaces: boolean
}

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

const CLONE_THREAD = 0x10000
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const CLONE_NAMESPACES = 0x7e020000
/** Put characters into a terminal's input, as if its owner had typed them. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c
/** On x86_64 this bit asks for the x32 numbers, under which every rule below would be passed by. */
const X32 = 0x40000000

const allow = giveBack(0x7fff0000)
const killProcess = giveBack(0x80000000)
const fail = (errno: number) => giveBack(0x00050000 | errno)

/** What no tool needs and what has been a way out of boxes before. */
const forbidden = [
  'ptrace',
  'process_vm_readv',
  'process_vm_writev',
  'pidfd_getfd',
  'kcmp',
  'add_key',
  'request_key',
  'keyctl',
  'bpf',
  'perf_event_open',
  'userfaultfd',
  'io_uring_setup',
  'io_uring_enter',
  'io_uring_register',
  'mount',
  'umount2',
  'pivot_root',
  'chroot',
  'open_tree',
  'move_mount',
  'fsopen',
  'fsconfig',
  'fsmount',
  'fspick',
  'mount_setattr',
  'open_by_handle_at',
  'unshare',
  'setns',
  'swapon',
  'swapoff',
  'reboot',
  'kexec_load',
  'kexec_file_load',
  'init_module',
  'finit_module',
  'delete_module',
  'acct',
  'quotactl',
  'quotactl_fd',
  'syslog',
  'vhangup',
  'settimeofday',
  'clock_settime',
  'clock_adjtime',
  'adjtimex',
  'move_pages',
  'migrate_pages',
  'fanotify_init',
  'lookup_dcookie',
  'iopl',
  'ioperm',
] as const satisfies readonly SystemCall[]

/** The program that the kernel runs before each system call of a box. */
export function compileFilter(rules: FilterRules, machine: Machine): Instruction[] {
  const on = (call: SystemCall, block: Instruction[]): Instruction[] => {
    const number = findNumber(call, machine)
    return number === undefined ? [] : ifEqual(number, block)
  }

  return [
    loadArchitecture(),
    ...unlessEqual(auditArchitecture[machine], [killProcess]),
    loadNumber(),
    ...(machine === 'x64' ? ifAtLeast(X32, [fail(ENOSYS)]) : []),
    ...on('socket', [
      loadArgument(0),
      ...(rules.interfaces ? ifEqual(AF_NETLINK, [loadArgument(2), ...only([NETLINK_ROUTE])]) : []),
      ...only(rules.unixSockets ? [AF_INET, AF_INET6, AF_UNIX] : [AF_INET, AF_INET6]),
    ]),
    ...on('socketpair', [loadArgument(0), ...only([AF_UNIX])]),
    ...on('ioctl', [loadArgument(1), ...ifEqual(TIOCSTI, [fail(EPERM)]), ...ifEqual(TIOCLINUX, [fail(EPERM)]), allow]),
    // Its flags lie in memory, where a filter cannot look. The C library then falls back to clone.
    ...on('clone3', [fail(ENOSYS)]),
    ...on('clone', [
      loadArgument(0),
      ...ifAnyBit(CLONE_NAMESPACES, [fail(EPERM)]),
      ...(rules.spawn ? [] : unlessAnyBit(CLONE_THREAD, [fail(EPERM)])),
      allow,
    ]),
    ...(rules.spawn ? [] : [...on('fork', [fail(EPERM)]), ...on('vfork', [fail(EPERM)])]),
    ...forbidden.flatMap((call) => on(call, [fail(EPERM)])),
    allow,
  ]
}

export function formatFilter(rules: FilterRules, machine: Machine): Buffer {
  return assemble(compileFilter(rules, machine))
}

function only(allowed: readonly number[]): Instruction[] {
  return [...allowed.flatMap((value) => ifEqual(value, [allow])), fail(EAFNOSUPPORT)]
}
