const secretWords = new Set(
  'token tokens key keys secret secrets pass pwd pat auth authorization bearer cookie credential credentials'.split(
    ' ',
  ),
)
/** Words written together: `PGPASSWORD`, `apitoken`, `secretkey`. */
const secretEnding =
  /(?:password|passwd|passphrase|passcode|secret|token|(?:pg|db|my|sql|user|admin|root|smtp|mail|redis|ftp)pass|(?<!public|mon|don|tur|hot|whis|hoc|joc|lac)key)$/
/** `SSH_KEY_PATH`, `TOKEN_URL`, `AUTH_TYPE`: about a secret, but not one. */
const harmlessEndings = new Set(
  'path file dir directory url uri endpoint host port type mode method name header id algorithm length limit size ttl timeout count provider scheme user username'.split(
    ' ',
  ),
)
const harmlessValue = /^(?:|true|false|yes|no|none|null|on|off|optional|required|\d{1,6})$/i

const tokenShapes = [
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bAIza[0-9A-Za-z_-]{35}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\bgsk_[A-Za-z0-9]{20,}/,
  /\bxapp-[A-Za-z0-9-]{10,}/,
  /\blin_api_[A-Za-z0-9]{20,}/,
  /\bntn_[A-Za-z0-9]{20,}/,
  /\bfigd_[A-Za-z0-9_-]{20,}/,
  /\bdop_v1_[a-f0-9]{32,}/,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  /\bya29\.[A-Za-z0-9_-]{20,}/,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/,
  /(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}/,
  // "Basic authentication" is prose: without a digit, the word after the scheme must be the last one.
  /\b(?:Bearer|Basic|Token)\s+(?=\S*\d)[A-Za-z0-9+/_.=~-]{8,}/i,
  /(?:^|[:="'])\s*(?:Bearer|Basic|Token)\s+[A-Za-z0-9+/_.=~-]{8,}(?=["']|$)/i,
  /\b(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*[^\s;&$<{"']{4,}/i,
]
const LONG_RUN = 13
/** By character code. */
const tokenParts = Uint8Array.from({ length: 128 }, (_, code) => (/[\w-]/.test(String.fromCharCode(code)) ? 1 : 0))
/** One of these stands around every secret that is told by what is before it. */
const mark = /[\d:="']/
const schemeFirst = /^\s*(?:Bearer|Basic|Token)\s/i
const plainShape =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9/]{10,}/

/** All shapes in one pass each way: most values have none of them. */
const exactShape = new RegExp(
  tokenShapes
    .filter(({ flags }) => flags === '')
    .map(({ source }) => source)
    .join('|'),
)
const looseShape = new RegExp(
  tokenShapes
    .filter(({ flags }) => flags === 'i')
    .map(({ source }) => source)
    .join('|'),
  'i',
)

const assignment = /^-{0,2}([A-Za-z][\w.-]*)[=:]\s*(.*)$/s
const flag = /^--?([A-Za-z][\w.-]*)$/
// The lookbehinds and excluded openers keep these linear: without them, hostile text is read again from every letter.
const url = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/(?:([^/?#\s@]*)@)?[^?#\s]*(?:[?#](\S*))?/gi
const jsonMember = /"([\w.-]+)\\*"\s*:\s*\\*"([^"\\]+)/g
const reference = /\$env:\w+|\$\{[^{}]*\}/g
/** A blank for a person or a program to fill in, with no more than a word like `Bearer` before it. */
const blank = /^(?:(?:Bearer|Basic|Token|ApiKey|Key)\s+)?(?:<[^<>]*>|\{{1,2}([\w .-]*)\}{1,2})$/i

/** What every secret word holds; most names are told by its absence. */
const secretHint = /key|token|secret|pass|pwd|pat|auth|bearer|cookie|credential/i

/** The keys of documents are few and come again and again. */
const judged = new Map<string, boolean>()
const MAX_JUDGED = 1_000

/** Whether a name such as `GITHUB_TOKEN`, `apiKey` or `X-Api-Key` says that its value is a secret. */
export function isSecretName(name: string): boolean {
  if (name === '') return false
  const known = judged.get(name)
  if (known !== undefined) return known
  const isSecret = judgeName(name)
  if (judged.size < MAX_JUDGED && name.length <= 64) judged.set(name, isSecret)
  return isSecret
}

function judgeName(name: string): boolean {
  if (!secretHint.test(name)) return false
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  // `TOKEN1` and `API_KEY2` are as secret as the first of their kind.
  words.push((words.pop() ?? '').replace(/\d+$/, ''))
  const isAboutSecret = words.some((word) => secretWords.has(word) || secretEnding.test(word))
  return isAboutSecret && !words.includes('public') && !harmlessEndings.has(words.at(-1) ?? '')
}

/** Whether a value is a credential that stands in the open, judged by the name it is given to and by its own shape. */
export function isLiteralCredential(name: string, value: string): boolean {
  return hasSecretShape(value) || isSecretPair(name, value)
}

/** Indexes of the launch arguments that hold a credential, as `--token x`, `--token=x`, `TOKEN=x` or by shape. */
export function findCredentialArguments(args: readonly string[]): number[] {
  return args.flatMap((argument, index) => {
    const [, name = '', value = ''] = assignment.exec(argument) ?? []
    // `--env=TOKEN=x`
    const [, innerName = '', innerValue = ''] = assignment.exec(value) ?? []
    const flagBefore = flag.exec(args[index - 1] ?? '')?.[1] ?? ''
    const isValueOfFlag = flagBefore !== '' && !argument.startsWith('-')
    return isLiteralCredential(name, value) ||
      isSecretPair(innerName, innerValue) ||
      hasSecretShape(argument) ||
      (isValueOfFlag && isSecretPair(flagBefore, argument))
      ? [index]
      : []
  })
}

function hasSecretShape(value: string): boolean {
  if (value.length < 9) return false
  const isMarked = mark.test(value)
  return (
    (hasLongRun(value) && exactShape.test(value)) ||
    ((isMarked || schemeFirst.test(value)) && looseShape.test(value)) ||
    ((value.includes('hooks.slack.com') || value.includes('-----BEGIN')) && plainShape.test(value)) ||
    (isMarked && hasNestedCredential(value))
  )
}

function hasNestedCredential(value: string): boolean {
  return (
    (value.includes('://') && hasUrlCredential(value)) ||
    (value.includes('"') &&
      [...value.matchAll(jsonMember)].some(([, name = '', text = '']) => isSecretPair(name, text)))
  )
}

/** Whether thirteen characters of a token stand together, as they do in every one. Most of a text is passed over, because every text of every document comes by here. */
function hasLongRun(value: string): boolean {
  for (let index = LONG_RUN - 1; index < value.length; index += LONG_RUN) {
    if (!isTokenPart(value, index)) continue
    let start = index
    let end = index
    while (start > 0 && isTokenPart(value, start - 1)) start -= 1
    while (end + 1 < value.length && isTokenPart(value, end + 1)) end += 1
    if (end - start + 1 >= LONG_RUN) return true
    index = end
  }
  return false
}

function isTokenPart(value: string, index: number): boolean {
  const code = value.charCodeAt(index)
  return code < 128 && tokenParts[code] === 1
}

/** A password or token before the host, or a secret parameter in the query or fragment. */
function hasUrlCredential(value: string): boolean {
  return [...value.matchAll(url)].some(([, userinfo = '', parameters = '']) => {
    const password = userinfo.includes(':') ? userinfo.slice(userinfo.indexOf(':') + 1) : ''
    if (password !== '' && !isGap(password)) return true
    if (isOpaque(userinfo)) return true
    return parameters.split(/[&;#?]/).some((pair) => {
      const [name = '', text = ''] = pair.split('=', 2)
      return isSecretPair(name, text)
    })
  })
}

function isSecretPair(name: string, value: string): boolean {
  return isSecretName(name) && !harmlessValue.test(value) && !isGap(value)
}

/** `$env:TOKEN`, `${TOKEN}`, `<token>` or `{token}`: to be filled in, and the affair of other rules. What stands beside it must be no secret. */
function isGap(value: string): boolean {
  const [whole, name] = blank.exec(value) ?? []
  if (whole !== undefined) return name === undefined || isBlankName(name)
  const rest = value.replace(reference, '\0')
  if (rest === value || /[A-Za-z0-9]{4}\0|\0[A-Za-z0-9]{4}/.test(rest)) return false
  return !rest.split(/[^A-Za-z0-9]+/).some((word) => word.length >= 8 && isMixed(word))
}

/** `{token}`, `{GITHUB_PAT}` and `{your key}` ask for something; `{hunter}` may be what was asked for. */
function isBlankName(name: string): boolean {
  return (
    name.trim() === '' || /^[A-Z][A-Z0-9_]*$/.test(name) || /\b(?:your|my|insert)\b/i.test(name) || isSecretName(name)
  )
}

/** Sixteen or more letters and digits in no order a person would choose. */
function isOpaque(text: string): boolean {
  return /^[A-Za-z0-9_-]{16,}$/.test(text) && isMixed(text)
}

function isMixed(text: string): boolean {
  return /\d/.test(text) && /[A-Za-z]/.test(text)
}
