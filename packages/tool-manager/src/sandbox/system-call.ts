import { MatrixError } from '@matrix/protocol'

/** The machines whose system calls are known here, by Node's name for them. */
export const machines = ['x64', 'arm64'] as const
export type Machine = (typeof machines)[number]

/** How the kernel names the calling convention of each machine to a filter. */
export const auditArchitecture: Record<Machine, number> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** Numbers of the calls that a filter names: first of x86_64, then of aarch64, which lacks the older ones. */
const numbers = {
  fork: [57],
  vfork: [58],
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  unshare: [272, 97],
  setns: [308, 268],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  vhangup: [153, 58],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  iopl: [172],
  ioperm: [173],
} as const satisfies Record<string, readonly [number, number?]>

export type SystemCall = keyof typeof numbers

/** Undefined where the machine has no such call. */
export function findNumber(call: SystemCall, machine: Machine): number | undefined {
  return numbers[call][machines.indexOf(machine)]
}

/** The machine this runs on, if filters can be built for it. */
export function findMachine(architecture: string = process.arch): Machine | undefined {
  return machines.find((machine) => machine === architecture)
}

export function getMachine(): Machine {
  const machine = findMachine()
  if (machine) return machine
  throw new MatrixError('SANDBOX_UNAVAILABLE', `No filter can be built for ${process.arch}.`, {
    hint: 'Run Matrix on x86_64 or aarch64.',
  })
}
