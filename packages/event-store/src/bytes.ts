/** What is needed of Node's Buffer. Spelled out, so that the types of this package need nothing installed to be read. */
export interface Bytes extends Uint8Array {
  toString(encoding?: 'utf8' | 'latin1', start?: number, end?: number): string
  subarray(start?: number, end?: number): Bytes
  indexOf(value: number | string | Uint8Array, from?: number): number
  lastIndexOf(value: number | string | Uint8Array, from?: number): number
  includes(value: number | string | Uint8Array, from?: number): boolean
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number
}
