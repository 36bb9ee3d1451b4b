import { isLiteralCredential } from '../manifest/credential.ts'
import type { Piece } from './manifest-draft.ts'
import { fillGaps, hide, isSecret, ownName, reference, type Screen } from './secret-screen.ts'
import type { Template } from './template.ts'

export type ScreenedEndpoint = {
  endpoint: string
  /** What stood before the host, which no HTTP client sends from there. */
  authorization?: string
}

type Url = { start: string; host: string; path: string; query: string }

/** The address of a remote server without the secrets in it, as far as possible still an address. */
export function screenEndpoint(piece: Piece, screen: Screen): ScreenedEndpoint {
  const template = withDefaultOrigin(piece, screen)
  const text = fillGaps({ ...piece, template }, ownName('endpoint', screen), screen)
  const { userinfo, ...url } = splitUrl(text)
  if ((url.start + url.host).includes('$env:')) screen.problems.push(openAddress(piece, screen))
  else if (!URL.canParse(text.replaceAll('$env:', ''))) return notAnAddress(text, piece, screen)

  const endpoint = url.start + url.host + screenPath(url, piece, screen) + screenQuery(url, piece, screen)
  const whole = isLiteralCredential('', endpoint)
    ? hide(endpoint, 'endpoint', ownName('endpoint', screen), piece.path, screen)
    : endpoint
  return { endpoint: whole, ...(userinfo !== '' && { authorization: basicAuthorization(userinfo, piece, screen) }) }
}

/** Nothing can be told about the parts of what is no URL, so none of it is shown. */
function notAnAddress(text: string, { path }: Piece, screen: Screen): ScreenedEndpoint {
  screen.problems.push({ rule: 'MX003', path, message: `The address of "${screen.alias}" is not a URL.` })
  return { endpoint: reference(text, ownName('endpoint', screen), screen) }
}

function basicAuthorization(userinfo: string, { path }: Piece, screen: Screen): string {
  const hidden = reference(userinfo, ownName('basic credentials', screen), screen)
  screen.problems.push({
    rule: 'MX008',
    severity: 'warning',
    path,
    message: `The address of "${screen.alias}" has credentials before its host; the draft sends ${hidden} in a header instead.`,
    fix: `Set ${hidden.slice(5)} to the Base64 form of user:password; revoke the password if this file was ever shared.`,
  })
  return `Basic ${hidden}`
}

/** A fragment is never sent, so it is left out. */
function splitUrl(text: string): Url & { userinfo: string } {
  const [, start = '', authority = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?/i.exec(text) ?? []
  const at = authority.lastIndexOf('@')
  return { start, userinfo: authority.slice(0, Math.max(at, 0)), host: authority.slice(at + 1), path, query }
}

function screenPath({ path }: Url, piece: Piece, screen: Screen): string {
  return path
    .split('/')
    .map((part) => (isSecret('', part) ? hide(part, 'path', ownName('path', screen), piece.path, screen) : part))
    .join('/')
}

function screenQuery({ query }: Url, piece: Piece, screen: Screen): string {
  return query
    .split('&')
    .map((pair, index) => {
      const [, name = '', value = ''] = /^\??([^=]*)=(.*)$/s.exec(pair) ?? []
      if (!isSecret(name, value)) return pair
      return `${index === 0 ? '?' : ''}${name}=${hide(value, name, ownName(name, screen), piece.path, screen)}`
    })
    .join('&')
}

/** A manifest says which host it may reach, so a default for the part before the path is written in. */
function withDefaultOrigin({ template, path }: Piece, screen: Screen): Template {
  let before = ''
  return template.map((part) => {
    const origin = typeof part === 'string' ? part : defaultOrigin(before, part.fallback)
    before += origin ?? '/'
    if (typeof part === 'string' || origin === undefined) return part
    screen.problems.push({
      rule: 'MX029',
      path,
      message: `${part.variable} may change where "${screen.alias}" is; the draft has the default address from the file.`,
      fix: 'Write another host into the endpoint if you use one.',
    })
    return origin
  })
}

function defaultOrigin(before: string, fallback: string | undefined): string | undefined {
  if (fallback === undefined || isSecret('', fallback)) return undefined
  const isOrigin = before === '' && /^https?:\/\/[\w.-]+(?::\d+)?$/i.test(fallback)
  const isHost = /^https?:\/\/[^/?#]*$/i.test(before) && /^[\w.-]+(?::\d+)?$/.test(fallback)
  return isOrigin || isHost ? fallback : undefined
}

function openAddress({ path }: Piece, { alias }: Screen) {
  return {
    rule: 'MX029',
    path,
    message: `The address of "${alias}" is open before its path, but a manifest names the host it may reach.`,
    fix: 'Write the host into the endpoint.',
  } as const
}
