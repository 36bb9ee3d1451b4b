/** One instruction of a classic BPF program, as the kernel reads it. */
export type Instruction = { code: number; jumpTrue: number; jumpFalse: number; value: number }

const LOAD_WORD = 0x20
export const JUMP_IF_EQUAL = 0x15
export const JUMP_IF_AT_LEAST = 0x35
export const JUMP_IF_ANY_BIT = 0x45
export const RETURN = 0x06

/** Where `struct seccomp_data` keeps what a filter may look at. */
export const loadNumber = (): Instruction => plain(LOAD_WORD, 0)
export const loadArchitecture = (): Instruction => plain(LOAD_WORD, 4)
/** The low half of an argument, on the little-endian machines that are supported. */
export const loadArgument = (index: number): Instruction => plain(LOAD_WORD, 16 + 8 * index)
export const giveBack = (value: number): Instruction => plain(RETURN, value)

/** Each runs its block if the loaded word passes the test, and goes on behind the block if not. */
export const ifEqual = (value: number, block: Instruction[]) => guard(JUMP_IF_EQUAL, value, block, false)
export const unlessEqual = (value: number, block: Instruction[]) => guard(JUMP_IF_EQUAL, value, block, true)
export const ifAtLeast = (value: number, block: Instruction[]) => guard(JUMP_IF_AT_LEAST, value, block, false)
export const ifAnyBit = (bits: number, block: Instruction[]) => guard(JUMP_IF_ANY_BIT, bits, block, false)
export const unlessAnyBit = (bits: number, block: Instruction[]) => guard(JUMP_IF_ANY_BIT, bits, block, true)

/** The bytes that the kernel takes: eight for each instruction. */
export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, jumpTrue, jumpFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(jumpTrue, index * 8 + 2)
    bytes.writeUInt8(jumpFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return bytes
}

function plain(code: number, value: number): Instruction {
  return { code, jumpTrue: 0, jumpFalse: 0, value }
}

function guard(code: number, value: number, block: Instruction[], negated: boolean): Instruction[] {
  // A jump is one byte long; a block that does not fit would silently check something else.
  if (block.length > 255) throw new RangeError(`A block of ${block.length} instructions cannot be jumped over.`)
  const [jumpTrue, jumpFalse] = negated ? [block.length, 0] : [0, block.length]
  return [{ code, jumpTrue, jumpFalse, value }, ...block]
}
