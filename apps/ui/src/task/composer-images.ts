import type { Image } from '@matrix/protocol'

const types: readonly Image['mediaType'][] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const MAX_BYTES = 5 << 20
const MAX_COUNT = 20

export type ReadImages = { images: Image[]; refused: string[] }

/** Pictures from the clipboard, a drop or a dialog; what cannot be sent is named with the reason. */
export async function readImages(files: Iterable<File>, already: number): Promise<ReadImages> {
  const images: Image[] = []
  const refused: string[] = []
  for (const file of files) {
    const mediaType = types.find((type) => type === file.type)
    if (!mediaType) refused.push(`${file.name} is no PNG, JPEG, GIF or WebP picture`)
    else if (file.size > MAX_BYTES) refused.push(`${file.name} is larger than 5 MB`)
    else if (already + images.length >= MAX_COUNT) refused.push(`${file.name} is more than ${MAX_COUNT} pictures`)
    else images.push({ mediaType, data: toBase64(new Uint8Array(await file.arrayBuffer())) })
  }
  return { images, refused }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
