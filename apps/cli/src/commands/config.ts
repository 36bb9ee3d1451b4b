import { MatrixError, printableLine } from '@matrix/protocol'
import type { ConfigEntry, ConfigLayer, ConfigView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { PlaceOptions } from '../place.ts'
import { askSecret } from '../prompt.ts'
import { openSettings, type Settings } from '../settings.ts'
import { formatTable } from '../table.ts'
import { colorsFor, print, printError, printJson, terminalWidth } from '../terminal.ts'

type Options = PlaceOptions & { layer?: string; json?: boolean }

export async function listConfig(options: Options & { showOrigin?: boolean }): Promise<ExitCode> {
  const { view } = await openSettings(options)
  if (options.json) printJson(view)
  else print(formatSettings(view.entries, options.showOrigin ?? false))
  return tellProblems(view, options)
}

/** The value alone, so that a script can use it; secrets are never shown. */
export async function getConfig(key: string, options: Options): Promise<ExitCode> {
  const { view } = await openSettings(options)
  const entry = view.entries.find((one) => one.key === key)
  const below = view.entries.filter((one) => one.key.startsWith(`${key}.`))
  const isSet = entry && (entry.isSecret || entry.value !== null)
  if (!entry && below.length === 0)
    throw new MatrixError('CONFIG_INVALID', `There is no setting ${printableLine(key)}, or nothing is set there.`, {
      hint: 'matrix config list shows all there are.',
    })
  if (options.json) printJson(entry ?? below)
  else if (isSet) print(formatValue(entry))
  else if (below.length > 0) print(formatSettings(below, false))
  else
    throw new MatrixError('CONFIG_INVALID', `${printableLine(key)} is not set.`, {
      hint: `Set it with matrix config set ${printableLine(key)} <value>.`,
    })
  return exitCode.ok
}

export async function setConfig(key: string, value: string | undefined, options: Options): Promise<ExitCode> {
  const settings = await openSettings(options)
  const layer = chooseLayer(settings, key, options.layer)
  // On the command line a secret would be seen by everyone who lists processes, and stay in the history of the shell.
  const text = value ?? (await askSecret(`${key}: `))
  if (text === '')
    throw new MatrixError('CONFIG_INVALID', 'There is no value.', {
      hint: `Use matrix config unset ${key} to take it out.`,
    })
  const view = await settings.set(layer, key, readValue(text))
  if (options.json) printJson(view.entries.filter((one) => one.key === key || one.key.startsWith(`${key}.`)))
  else print(`Set ${printableLine(key)} ${whereOf(layer)}.${frozenNote(key)}`)
  return tellProblems(view, options)
}

export async function unsetConfig(key: string, options: Options): Promise<ExitCode> {
  const settings = await openSettings(options)
  const entry = settings.view.entries.find((one) => one.key === key)
  const origin = entry?.origin
  const layer = options.layer === undefined && isLayer(origin) ? origin : chooseLayer(settings, key, options.layer)
  const view = await settings.unset(layer, key)
  if (options.json) printJson(view.entries.filter((one) => one.key === key))
  else print(`Took ${printableLine(key)} out ${whereOf(layer)}.`)
  return tellProblems(view, options)
}

const frozenKeys: ReadonlySet<string> = new Set(['model', 'childModel', 'defaultAuth', 'childAuth', 'maxDepth'])

/** Sessions are bound to their model, tools and prompt, which the provider has cached. */
function frozenNote(key: string): string {
  if (!frozenKeys.has(key)) return ''
  return ' Sessions that have begun take it at their next compaction, or with: matrix restart <task>'
}

const layers = ['global', 'repo', 'local'] as const

function isLayer(text: string | undefined): text is ConfigLayer {
  return layers.some((layer) => layer === text)
}

/** In a project, what may differ from project to project is set for that one; everything else for all. */
function chooseLayer({ view, isInProject }: Settings, key: string, asked: string | undefined): ConfigLayer {
  if (isLayer(asked)) return asked
  if (asked !== undefined)
    throw new MatrixError('REQUEST_INVALID', `${printableLine(asked)} is not a layer.`, {
      hint: `Give ${layers.join(', ')}.`,
    })
  const entry = view.entries.find((one) => one.key === key) ?? view.entries.find((one) => key.startsWith(`${one.key}.`))
  const isForProject =
    entry && !entry.isSecret && entry.settableIn.includes('repo') && entry.settableIn.includes('local')
  return isInProject && isForProject ? 'local' : 'global'
}

function whereOf(layer: ConfigLayer): string {
  return {
    global: 'for all projects',
    repo: 'in this repository, for everyone who clones it',
    local: 'for this project, on this machine',
  }[layer]
}

/** What reads as JSON is that; everything else is text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function formatValue({ value, isSecret }: ConfigEntry): string {
  if (isSecret) return '(set, not shown)'
  if (value === undefined || value === null) return ''
  return printableLine(typeof value === 'string' ? value : JSON.stringify(value))
}

function formatSettings(entries: readonly ConfigEntry[], showOrigin: boolean): string {
  const { dim } = colorsFor(process.stdout)
  const rows = entries.map((entry) => [
    printableLine(entry.key),
    formatValue(entry),
    ...(showOrigin ? [dim(originOf(entry))] : []),
  ])
  const columns = [{ heading: '' }, { heading: '', flexible: !showOrigin }, ...(showOrigin ? [{ heading: '' }] : [])]
  return formatTable(columns, rows, terminalWidth()).join('\n')
}

function originOf({ origin, file, line }: ConfigEntry): string {
  return file === null ? origin : `${origin} ${printableLine(file)}${line === null ? '' : `:${line}`}`
}

/** A setting that is not understood is not in force, which nobody should find out by accident. */
function tellProblems({ problems }: ConfigView, { json }: Options): ExitCode {
  const { red, dim } = colorsFor(process.stderr)
  if (!json)
    for (const { file, line, message, hint } of problems)
      printError(
        `${red('problem:')} ${printableLine(file)}${line === null ? '' : `:${line}`}: ${printableLine(message)}\n${dim(`  ${printableLine(hint)}`)}`,
      )
  return problems.length === 0 ? exitCode.ok : exitCode.findings
}
