import { isSameJson } from '../document/json-equality.ts'
import { canonicalForm } from '../manifest/digest.ts'
import type { Hook, HookTrigger, Policy, ToolSettings } from '../policy/policy.ts'
import type { Change, ChangeKind, Danger } from './change.ts'
import { excerpt } from './text-diff.ts'
import { diffWording } from './tool-diff.ts'

/** What changed in what an agent sees, does unasked and is held to. No policy at all holds it to nothing. */
export function diffPolicy(before: Policy | undefined, after: Policy | undefined): Change[] {
  if (isSameJson(before, after)) return []
  if (!before) return [change('low', 'A policy is new: what the manifest allows is narrowed by it.', { after })]
  if (!after) return [change('high', 'The policy is gone, and nothing narrows the manifest any more.', { before })]
  return [
    ...diffEntries(before.allowedTools, after.allowedTools, {
      added: ['high', 'may run without asking anybody now'],
      removed: ['low', 'may no longer run without asking'],
    }),
    ...diffEntries(before.tools, after.tools, {
      added: ['medium', 'is shown to the model now'],
      removed: ['low', 'is no longer shown to the model'],
    }),
    ...diffEntries(before.resources, after.resources, {
      added: ['medium', 'is read into the conversation now'],
      removed: ['low', 'is no longer read into the conversation'],
    }),
    ...diffSettings(before.toolsSettings, after.toolsSettings),
    ...diffHooks(before.hooks, after.hooks),
    ...diffWording(before.prompt, after.prompt, { kind: 'policy', where: {}, danger: 'medium', what: 'The prompt' }),
    ...diffModel(before.model, after.model),
  ]
}

type Words = { added: [Danger, string]; removed: [Danger, string] }

function diffEntries(before: readonly string[], after: readonly string[], words: Words, prefix = ''): Change[] {
  const added = [...new Set(after)].filter((entry) => !before.includes(entry))
  const removed = [...new Set(before)].filter((entry) => !after.includes(entry))
  const say = (entry: string, text: string) => `${prefix}"${excerpt(entry)}" ${text}.`
  return [
    ...added.map((entry) => change(words.added[0], say(entry, words.added[1]), { after: entry })),
    ...removed.map((entry) => change(words.removed[0], say(entry, words.removed[1]), { before: entry })),
  ]
}

function diffSettings(before: Policy['toolsSettings'], after: Policy['toolsSettings']): Change[] {
  const tools = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return tools.flatMap((tool) => {
    const [old, now] = [settingsOf(before, tool), settingsOf(after, tool)]
    const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort()
    return names.flatMap((name) => diffSetting(tool, name, old[name], now[name]))
  })
}

function settingsOf(settings: Policy['toolsSettings'], tool: string): ToolSettings {
  return (Object.hasOwn(settings, tool) ? settings[tool] : undefined) ?? {}
}

function diffSetting(tool: string, name: string, before: unknown, after: unknown): Change[] {
  if (isSameJson(before, after)) return []
  const prefix = `Settings of ${excerpt(tool)}: `
  const kind = /^(allowed|denied)(?:Paths|Commands|Hosts)$/.exec(name)?.[1]
  if (kind === 'allowed') return diffAllowed(`${prefix}${name}: `, before, after)
  if (kind === 'denied')
    return diffEntries(
      listOf(before),
      listOf(after),
      { added: ['low', 'is denied now'], removed: ['high', 'is no longer denied'] },
      `${prefix}${name}: `,
    )
  const isLoosened = (name === 'denyByDefault' && before === true) || (name === 'autoAllowReadonly' && after === true)
  const isKnown = name === 'denyByDefault' || name === 'autoAllowReadonly'
  const danger = isLoosened ? 'high' : isKnown ? 'low' : 'medium'
  return [
    change(danger, `${prefix}${excerpt(name)} changed from ${show(before)} to ${show(after)}.`, { before, after }),
  ]
}

function diffAllowed(prefix: string, before: unknown, after: unknown): Change[] {
  if (after === undefined) return [change('high', `${prefix}the list is gone, so it restricts nothing.`, { before })]
  if (before === undefined) return [change('medium', `${prefix}the list is new: ${show(after)}.`, { after })]
  const words: Words = { added: ['high', 'is allowed now'], removed: ['low', 'is no longer allowed'] }
  return diffEntries(listOf(before), listOf(after), words, prefix)
}

/** The hooks of one trigger run side by side, so their order means nothing. */
function diffHooks(before: Policy['hooks'], after: Policy['hooks']): Change[] {
  const triggers = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort() as HookTrigger[]
  return triggers.flatMap((trigger) => {
    const [old, now] = [before[trigger] ?? [], after[trigger] ?? []].map((hooks) => new Map(hooks.map(withForm)))
    const added = [...(now ?? [])].filter(([form]) => !old?.has(form)).map(([, hook]) => hook)
    const removed = [...(old ?? [])].filter(([form]) => !now?.has(form)).map(([, hook]) => hook)
    return [...added.map((hook) => addedHook(trigger, hook)), ...removed.map((hook) => removedHook(trigger, hook))]
  })
}

function withForm(hook: Hook): [string, Hook] {
  return [canonicalForm(hook), hook]
}

function addedHook(trigger: HookTrigger, hook: Hook): Change {
  return change('high', `On ${trigger}, a command runs: ${shownHook(hook)}.`, { after: hook }, 'hooks')
}

function removedHook(trigger: HookTrigger, hook: Hook): Change {
  const isGuard = trigger === 'preToolUse'
  const message = `On ${trigger}, a command no longer runs${isGuard ? ', nor blocks a call' : ''}: ${shownHook(hook)}.`
  return change(isGuard ? 'high' : 'low', message, { before: hook }, 'hooks')
}

function shownHook({ command, matcher, on_error: onError }: Hook): string {
  const scope = matcher === undefined || matcher === '*' ? '' : ` for ${excerpt(matcher)}`
  return `${excerpt(command)}${scope}${onError === 'block' ? ', blocking when it fails' : ''}`
}

function diffModel(before: string | undefined, after: string | undefined): Change[] {
  if (before === after) return []
  return [change('low', `The model changed from ${show(before)} to ${show(after)}.`, { before, after })]
}

function change(
  danger: Danger,
  message: string,
  parts: { before?: unknown; after?: unknown },
  kind: ChangeKind = 'policy',
): Change {
  return { kind, where: {}, danger, message, ...parts }
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : excerpt(JSON.stringify(value), 80)
}
