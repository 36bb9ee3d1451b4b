import { expect, test } from 'vitest'
import { readImages } from './composer-images.ts'

test('pictures are read, and what cannot be sent is named with the reason', async () => {
  const { images, refused } = await readImages(
    [
      new File([new Uint8Array([1, 2, 3])], 'a.png', { type: 'image/png' }),
      new File(['<svg/>'], 'b.svg', { type: 'image/svg+xml' }),
      new File([new Uint8Array(6 << 20)], 'c.jpg', { type: 'image/jpeg' }),
    ],
    0,
  )

  expect(images).toEqual([{ mediaType: 'image/png', data: 'AQID' }])
  expect(refused).toEqual(['b.svg is no PNG, JPEG, GIF or WebP picture', 'c.jpg is larger than 5 MB'])
})

test('no more pictures are taken than one message may hold', async () => {
  const { images, refused } = await readImages([new File(['x'], 'a.png', { type: 'image/png' })], 20)

  expect(images).toEqual([])
  expect(refused).toHaveLength(1)
})
