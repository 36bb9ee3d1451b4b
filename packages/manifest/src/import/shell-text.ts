import type { LocatedText } from './client-command.ts'

/** What a text for a shell starts, where it is no more than variables and plain words. */
export type ShellCommand = { env: { name: string; text: string }[]; words: string[] }

const shells = /(?:^|[\\/])(?:ba|z|da|a|k|fi)?sh(?:\.exe)?$/
/** `bash -c`, `sh -lc`, `zsh -l -c`; where other options or arguments stand, the text stays with its shell. */
const options = /^(?:-[lie]*c|-[lie]+)$/
// `(?!\w)` leaves one way to read a name: with two, a text of the right form takes for ever.
const word = /^(?:[\w@%+=:,./~<>-]|\$\{\w+\}|\$\w+(?!\w)|'[^']*'|"(?:[^"\\$`]|\$\{\w+\}|\$\w+(?!\w))*")+/
const assignment = /^([A-Za-z_]\w*)=(.*)$/s

/** `bash -c "TOKEN=x npx -y name"` starts `npx -y name` with a variable, and needs no shell for it. */
export function readShellCommand(command: string, args: readonly LocatedText[]): ShellCommand | undefined {
  const [text, ...before] = args.map((each) => each.text).reverse()
  const isText = before[0]?.endsWith('c') && before.every((option) => options.test(option))
  if (text === undefined || !shells.test(command) || !isText) return undefined
  return readWords(text, true)
}

/** `"command": "npx -y name"`: a whole command line where the program alone belongs. */
export function readCommandLine(command: string): ShellCommand | undefined {
  // A path may hold blanks.
  if (!/\s/.test(command.trim()) || /^(?:[~./\\]|[A-Za-z]:)/.test(command)) return undefined
  return readWords(command, false)
}

function readWords(text: string, expands: boolean): ShellCommand | undefined {
  const words: string[] = []
  let rest = text.trim()
  while (rest !== '') {
    const found = word.exec(rest)?.[0]
    if (found === undefined) return undefined
    const after = rest.slice(found.length)
    // `>file`, `<(…)` and what else a shell would act on.
    if (after !== '' && !/^\s/.test(after)) return undefined
    if (/[<>]/.test(found.replace(/'[^']*'|"[^"]*"|<[\w .-]+>/g, ''))) return undefined
    if (/^~|[=:]~/.test(found) || (/[*?[\]]/.test(found) && !/["']/.test(found))) return undefined
    words.push(unquote(found, expands))
    rest = after.trimStart()
  }
  return splitVariables(words)
}

/** `$NAME` becomes `${NAME}`, which is read as a reference; between single quotes a shell leaves it alone. */
function unquote(text: string, expands: boolean): string {
  return text.replace(/'([^']*)'|"([^"]*)"|([^'"]+)/g, (_, single?: string, double?: string, bare?: string) => {
    if (single !== undefined) return single
    const part = double ?? bare ?? ''
    return expands ? part.replace(/\$(\w+)/g, (_whole, name: string) => `\${${name}}`) : part
  })
}

function splitVariables(words: string[]): ShellCommand | undefined {
  const env: ShellCommand['env'] = []
  const rest = [...words]
  while (rest[0] === 'exec' || rest[0] === 'env' || assignment.test(rest[0] ?? '')) {
    const [, name, text = ''] = assignment.exec(rest.shift() ?? '') ?? []
    if (name !== undefined) env.push({ name, text })
  }
  // An option of `env` or `exec` changes what it does.
  return rest[0] === undefined || rest[0].startsWith('-') ? undefined : { env, words: rest }
}
