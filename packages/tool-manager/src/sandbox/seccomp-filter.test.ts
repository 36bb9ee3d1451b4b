import { expect, test } from 'vitest'
import { assemble, type Instruction, ifEqual, JUMP_IF_ANY_BIT, JUMP_IF_AT_LEAST, JUMP_IF_EQUAL, RETURN } from './bpf.ts'
import { compileFilter, type FilterRules, formatFilter } from './seccomp-filter.ts'
import { auditArchitecture, findNumber, type Machine, machines, type SystemCall } from './system-call.ts'

const ALLOW = 'allow'
const EPERM = 'errno 1'
const ENOSYS = 'errno 38'
const EAFNOSUPPORT = 'errno 97'

const strict: FilterRules = { spawn: false, unixSockets: false, interfaces: false }
const loose: FilterRules = { spawn: true, unixSockets: true, interfaces: true }

test.each(machines)('on %s only internet sockets can be opened, and unix ones where that was asked for', (machine) => {
  expect(call(strict, machine, 'socket', 2)).toBe(ALLOW)
  expect(call(strict, machine, 'socket', 10)).toBe(ALLOW)
  // UNIX, NETLINK, PACKET, ALG, VSOCK
  for (const family of [1, 16, 17, 38, 40]) expect(call(strict, machine, 'socket', family)).toBe(EAFNOSUPPORT)
  expect(call(loose, machine, 'socket', 1)).toBe(ALLOW)
  expect(call(loose, machine, 'socket', 40)).toBe(EAFNOSUPPORT)
  expect(call(strict, machine, 'socketpair', 1)).toBe(ALLOW)
})

test.each(machines)(
  'on %s a list of interfaces can be asked for in a network of its own, and nothing else of the kind',
  (machine) => {
    expect(call(loose, machine, 'socket', 16, 3, 0)).toBe(ALLOW)
    // Audit, netfilter, devices, generic, crypto
    for (const protocol of [9, 12, 15, 16, 21])
      expect(call(loose, machine, 'socket', 16, 3, protocol)).toBe(EAFNOSUPPORT)
    expect(call(strict, machine, 'socket', 16, 3, 0)).toBe(EAFNOSUPPORT)
  },
)

test.each(machines)('on %s a program that may not spawn still has its threads', (machine) => {
  const thread = 0x3d0f00
  const child = 0x1200011

  expect(call(strict, machine, 'clone', thread)).toBe(ALLOW)
  expect(call(strict, machine, 'clone', child)).toBe(EPERM)
  expect(call(loose, machine, 'clone', child)).toBe(ALLOW)
  expect(call(loose, machine, 'clone3', 0)).toBe(ENOSYS)
})

test.each(machines)('on %s no namespace can be entered or made', (machine) => {
  for (const flag of [0x10000000, 0x00020000, 0x40000000, 0x20000000])
    expect(call(loose, machine, 'clone', flag | 0x11)).toBe(EPERM)
  expect(call(loose, machine, 'unshare', 0)).toBe(EPERM)
  expect(call(loose, machine, 'setns', 3)).toBe(EPERM)
})

test.each(machines)('on %s the ways out that others have used are closed', (machine) => {
  const closed: SystemCall[] = ['ptrace', 'keyctl', 'bpf', 'userfaultfd', 'io_uring_setup', 'mount', 'fsopen']
  for (const name of closed) expect(call(loose, machine, name, 0)).toBe(EPERM)
})

test.each(machines)('on %s nothing can be typed into a terminal, and other requests pass', (machine) => {
  expect(call(loose, machine, 'ioctl', 0, 0x5412)).toBe(EPERM)
  expect(call(loose, machine, 'ioctl', 0, 0x541c)).toBe(EPERM)
  expect(call(loose, machine, 'ioctl', 0, 0x5401)).toBe(ALLOW)
})

test('on x86_64, where fork is a call of its own, it is refused to whoever may not spawn', () => {
  expect(call(strict, 'x64', 'fork', 0)).toBe(EPERM)
  expect(call(strict, 'x64', 'vfork', 0)).toBe(EPERM)
  expect(call(loose, 'x64', 'fork', 0)).toBe(ALLOW)
  expect(findNumber('fork', 'arm64')).toBeUndefined()
})

test('a call made by the convention of another machine ends the process', () => {
  const i386 = 0x40000003
  expect(decide(compileFilter(loose, 'x64'), { architecture: i386, number: 11, args: [] })).toBe('kill')
  expect(decide(compileFilter(loose, 'arm64'), { architecture: auditArchitecture.x64, number: 11, args: [] })).toBe(
    'kill',
  )
})

test('the x32 numbers, under which no rule would match, are not there', () => {
  const data = { architecture: auditArchitecture.x64, number: 0x40000000 + 57, args: [0] }
  expect(decide(compileFilter(strict, 'x64'), data)).toBe(ENOSYS)
})

test('ordinary calls pass', () => {
  for (const number of [0, 1, 3, 9, 59, 202, 257]) {
    const data = { architecture: auditArchitecture.x64, number, args: [] }
    expect(decide(compileFilter(strict, 'x64'), data)).toBe(ALLOW)
  }
})

test('an instruction is eight bytes: code, two jumps and a value', () => {
  const [jump] = ifEqual(0xc000003e, [])
  expect(assemble(jump ? [jump] : []).toString('hex')).toBe('150000003e0000c0')
  expect(formatFilter(strict, 'x64').length).toBe(compileFilter(strict, 'x64').length * 8)
})

test('a block too long to be jumped over is refused', () => {
  const [step] = ifEqual(1, [])
  expect(() =>
    ifEqual(
      1,
      Array.from({ length: 256 }, () => step as Instruction),
    ),
  ).toThrow('256 instructions')
})

type Data = { architecture: number; number: number; args: number[] }

function call(rules: FilterRules, machine: Machine, name: SystemCall, ...args: number[]): string {
  const number = findNumber(name, machine)
  if (number === undefined) throw new Error(`${machine} has no ${name}`)
  return decide(compileFilter(rules, machine), { architecture: auditArchitecture[machine], number, args })
}

/** The kernel's side of the filter, in the few instructions that are used. */
function decide(program: Instruction[], data: Data): string {
  const words = [data.number, data.architecture, 0, 0, ...data.args.flatMap((arg) => [arg, 0])]
  let loaded = 0
  for (let at = 0; at < program.length; at += 1) {
    const { code, jumpTrue, jumpFalse, value } = program[at] ?? { code: -1, jumpTrue: 0, jumpFalse: 0, value: 0 }
    if (code === RETURN) return verdict(value)
    if (code === JUMP_IF_EQUAL) at += loaded >>> 0 === value >>> 0 ? jumpTrue : jumpFalse
    else if (code === JUMP_IF_AT_LEAST) at += loaded >>> 0 >= value >>> 0 ? jumpTrue : jumpFalse
    else if (code === JUMP_IF_ANY_BIT) at += (loaded & value) !== 0 ? jumpTrue : jumpFalse
    else loaded = words[value / 4] ?? 0
  }
  throw new Error('The program ran off its end.')
}

function verdict(value: number): string {
  if (value >>> 0 === 0x7fff0000) return ALLOW
  if (value >>> 0 === 0x80000000) return 'kill'
  return `errno ${value & 0xffff}`
}
