import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../access/secret.ts'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

type Asset = {
  type: string
  bytes: Buffer
  etag: string
  isHashed: boolean
  brotli: Promise<Buffer | undefined> | undefined
}

/**
 * Serves the files of the built web UI. They are listed once, at the start: what is not in the list does not exist, so no
 * path can lead anywhere else. Other addresses get the page itself, which knows what to show for them.
 */
export async function addStaticUi(app: FastifyInstance, folder: string | undefined): Promise<void> {
  const assets = folder ? await loadAssets(folder) : new Map<string, Asset>()
  const page = assets.get('/index.html')

  app.get('/*', { config: { access: 'open' } }, (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '/'
    if (path.startsWith('/api/')) return reply.callNotFound()
    const asset = assets.get(path)
    if (asset) return sendAsset(asset, request, reply)
    // A script or style that is missing must not be answered with a page.
    if (extname(path) !== '' && page) return reply.callNotFound()
    if (page) return sendAsset(page, request, reply)
    return reply.type('text/html; charset=utf-8').send(missingPage)
  })
}

async function loadAssets(folder: string): Promise<Map<string, Asset>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined)
  const assets = files.map(async (entry): Promise<[string, Asset]> => {
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    const path = `/${relative(folder, file).split(sep).join('/')}`
    return [path, toAsset(path, bytes)]
  })
  return new Map(await Promise.all(assets))
}

function toAsset(path: string, bytes: Buffer): Asset {
  const type = types[extname(path)] ?? ''
  // The build puts a hash of the content into the names of everything in this folder.
  const isHashed = path.startsWith('/assets/')
  return { type, bytes, etag: `"${digestOf(bytes).slice(0, 32)}"`, isHashed, brotli: undefined }
}

async function sendAsset(asset: Asset, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  reply.headers({
    'content-type': asset.type,
    'cache-control': asset.isHashed ? 'private, max-age=31536000, immutable' : 'no-cache',
    etag: asset.etag,
    vary: 'accept-encoding',
  })
  if (request.headers['if-none-match'] === asset.etag) return reply.code(304).send()

  const acceptsBrotli = /\bbr\b/.test(String(request.headers['accept-encoding'] ?? ''))
  asset.brotli ??= acceptsBrotli ? compress(asset) : undefined
  const small = acceptsBrotli ? await asset.brotli : undefined
  return small ? reply.header('content-encoding', 'br').send(small) : reply.send(asset.bytes)
}

/** Once for each file, when it is first asked for; what does not get smaller is left as it is. */
async function compress({ bytes, type }: Asset): Promise<Buffer | undefined> {
  if (/^(image\/(png|x-icon)|font\/)/.test(type)) return undefined
  const params = { [constants.BROTLI_PARAM_QUALITY]: 7 }
  const small = await promisify(brotliCompress)(bytes, { params })
  return small.length < bytes.length ? small : undefined
}

const missingPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Matrix</title>
<h1>The daemon of Matrix runs, but its web UI has not been built</h1>
<p>Run <code>npm start</code> in the folder of Matrix, or use the command line: <code>matrix --help</code>.</p>
<p><a href="/api/docs">The HTTP API</a></p>
</html>`
