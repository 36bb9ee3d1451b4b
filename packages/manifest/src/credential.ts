import { hasEnvironmentReference } from './environment-reference.ts'

const secretWords = new Set(
  'token tokens key keys apikey secret secrets password passwd passphrase pass pwd pat auth authorization bearer cookie credential credentials'.split(
    ' ',
  ),
)
/** `SSH_KEY_PATH`, `TOKEN_URL`, `AUTH_TYPE`: about a secret, but not one. */
const harmlessEndings = new Set(
  'path file dir directory url uri endpoint host port type mode method name header id algorithm length limit size ttl timeout count provider scheme user username'.split(
    ' ',
  ),
)
const harmlessValue = /^(?:|true|false|yes|no|none|null|on|off|optional|required|\d{1,6})$/i

const tokenShapes: readonly RegExp[] = [
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bAIza[0-9A-Za-z_-]{35}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b(?:Bearer|Basic|Token)\s+[A-Za-z0-9+/_.=~-]{8,}/i,
]

const assignment = /^-{0,2}([A-Za-z][\w.-]*)[=:]\s*(.*)$/s
const flag = /^--?([A-Za-z][\w.-]*)$/

/** Whether a name such as `GITHUB_TOKEN`, `apiKey` or `X-Api-Key` says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  return words.some((word) => secretWords.has(word)) && !harmlessEndings.has(words.at(-1) ?? '')
}

/** Whether a value is a credential that stands in the open, judged by the name it is given to and by its own shape. */
export function isLiteralCredential(name: string, value: string): boolean {
  if (hasSecretShape(value)) return true
  return (
    isSecretName(name) &&
    !hasEnvironmentReference(value) &&
    !harmlessValue.test(value) &&
    !isPlaceholderReference(value)
  )
}

/** Indexes of the launch arguments that hold a credential, as `--token x`, `--token=x`, `TOKEN=x` or by shape. */
export function findCredentialArguments(args: readonly string[]): number[] {
  return args.flatMap((argument, index) => {
    const [, name = '', value = ''] = assignment.exec(argument) ?? []
    const flagBefore = flag.exec(args[index - 1] ?? '')?.[1] ?? ''
    const isValueOfFlag = flagBefore !== '' && !argument.startsWith('-')
    return isLiteralCredential(name, value) ||
      hasSecretShape(argument) ||
      (isValueOfFlag && isLiteralCredential(flagBefore, argument))
      ? [index]
      : []
  })
}

function hasSecretShape(value: string): boolean {
  if (value.length < 9) return false
  return tokenShapes.some((shape) => shape.test(value)) || (value.includes('://') && hasUrlCredential(value))
}

/** A password before the host, or a secret parameter in the query. */
function hasUrlCredential(value: string): boolean {
  const [, userinfo = '', query = ''] =
    /[a-z][a-z0-9+.-]*:\/\/(?:([^/?#\s@]*)@)?[^?#\s]*(?:\?([^#\s]*))?/i.exec(value) ?? []
  const password = userinfo.includes(':') ? userinfo.slice(userinfo.indexOf(':') + 1) : ''
  if (password !== '' && !hasEnvironmentReference(password) && !isPlaceholderReference(password)) return true
  return query.split('&').some((pair) => {
    const [name = '', text = ''] = pair.split('=', 2)
    return isSecretName(name) && text !== '' && !hasEnvironmentReference(text) && !isPlaceholderReference(text)
  })
}

/** `${TOKEN}`, `<token>` or `{token}`: a gap to be filled in, reported by other rules. */
function isPlaceholderReference(value: string): boolean {
  return /^(?:[A-Za-z]+ )?(?:\$\{[^}]*\}|<[^>]*>|\{[^}]*\}|\$env:)/.test(value)
}
