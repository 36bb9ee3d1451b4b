/** A picture that models can look at. */
export type ImageInfo = { mimeType: string; width: number | undefined; height: number | undefined }

/** Tells a picture by its first bytes, never by its name. */
export function findImage(head: Buffer): ImageInfo | undefined {
  if (head.subarray(0, 8).equals(pngSignature)) {
    const hasSize = head.length >= 24
    return {
      mimeType: 'image/png',
      width: hasSize ? head.readUInt32BE(16) : undefined,
      height: hasSize ? head.readUInt32BE(20) : undefined,
    }
  }
  if (head.toString('latin1', 0, 4) === 'GIF8' && head.length >= 10)
    return { mimeType: 'image/gif', width: head.readUInt16LE(6), height: head.readUInt16LE(8) }
  if (head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP')
    return { mimeType: 'image/webp', ...webpSize(head) }
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return { mimeType: 'image/jpeg', ...jpegSize(head) }
  return undefined
}

const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex')
const unknown = { width: undefined, height: undefined }

function webpSize(head: Buffer): Pick<ImageInfo, 'width' | 'height'> {
  if (head.toString('latin1', 12, 16) !== 'VP8X' || head.length < 30) return unknown
  return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
}

/** Walks the segments to the one that starts a frame. */
function jpegSize(head: Buffer): Pick<ImageInfo, 'width' | 'height'> {
  for (let at = 2; at + 9 < head.length; ) {
    if (head[at] !== 0xff) return unknown
    const marker = head[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: head.readUInt16BE(at + 5), width: head.readUInt16BE(at + 7) }
    at += 2 + head.readUInt16BE(at + 2)
  }
  return unknown
}
