import * as z from 'zod'
import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { Path } from '../document/source-text.ts'
import { findHidden } from '../document/text-check.ts'
import { isLiteralCredential } from '../manifest/credential.ts'
import { Hook, HookTrigger, type Policy } from '../policy/policy.ts'
import { resolveMatcher } from './tool-reference.ts'

/** What the later hook files call the same moments. */
const otherNames = new Map<string, HookTrigger>([['sessionstart', 'agentSpawn']])

/** Without the fields that nobody knows: they are reported, and do not go on into a lock. */
const KnownFields = z.object(Hook.shape)

const toolTriggers: readonly string[] = ['preToolUse', 'postToolUse'] satisfies HookTrigger[]

export type HooksCheck = { hooks: Policy['hooks']; problems: Problem[] }

/** Every hook under its trigger as a list, its matcher in normal spelling. */
export function checkHooks(
  authored: Readonly<Record<string, Hook | readonly Hook[]>>,
  servers: readonly string[],
): HooksCheck {
  const hooks: Policy['hooks'] = {}
  const problems: Problem[] = []
  for (const [name, value] of Object.entries(authored)) {
    const trigger = HookTrigger.safeParse(name).data
    if (!trigger) problems.push(unknownTrigger(name))
    const list = isList(value) ? value : [value]
    const checked = list.map((hook, index) =>
      checkHook(name, hook, isList(value) ? ['hooks', name, index] : ['hooks', name], servers),
    )
    problems.push(...checked.flatMap((each) => each.problems))
    if (trigger) hooks[trigger] = checked.flatMap((each) => each.hooks)
  }
  return { hooks, problems }
}

function checkHook(
  trigger: string,
  hook: Hook,
  path: Path,
  servers: readonly string[],
): { hooks: Hook[]; problems: Problem[] } {
  const { matcher, ...rest } = KnownFields.parse(hook)
  const command = [...path, 'command']
  const problems = [
    ...findHidden(hook.command, command),
    ...credentialProblems(hook.command, command),
    ...idleFields(trigger, hook, path),
  ]
  if (matcher === undefined) return { hooks: [rest], problems }

  const where = [...path, 'matcher']
  const resolved = resolveMatcher(matcher, servers)
  problems.push(...resolved.problems.map((problem): Problem => ({ ...problem, path: where })))
  // One tool elsewhere can be several here: the hook is repeated for each, and any call meets only one of them.
  const matchers = resolved.references.length > 0 ? resolved.references : [matcher]
  return { hooks: matchers.map((each) => ({ ...rest, matcher: each })), problems }
}

function idleFields(trigger: string, hook: Hook, path: Path): Problem[] {
  const idle = [
    ...(hook.matcher !== undefined && !toolTriggers.includes(trigger) ? ['matcher'] : []),
    ...(hook.on_error !== undefined && trigger !== 'preToolUse' ? ['on_error'] : []),
  ]
  return idle.map((field) => ({
    rule: 'MX027',
    path: [...path, field],
    at: 'key',
    message: `"${field}" has no effect in a hook of ${trigger}.`,
    fix: 'Remove it.',
  }))
}

function credentialProblems(command: string, path: Path): Problem[] {
  if (!isLiteralCredential('', command)) return []
  return [
    {
      rule: 'MX008',
      path,
      message: 'The command holds a literal credential.',
      fix: 'Let the command read it from the environment, as $NAME; then revoke the value that was in the file.',
    },
  ]
}

function unknownTrigger(name: string): Problem {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  const meant = otherNames.get(plain) ?? HookTrigger.options.find((each) => each.toLowerCase() === plain)
  return {
    rule: 'MX025',
    // A guard that never runs is worse than a field that nobody reads.
    severity: 'error',
    path: ['hooks', name],
    at: 'key',
    message: `${quoteText(name)} is not a trigger: its hooks would never run.`,
    fix: meant ? `Write "${meant}".` : `Use one of ${HookTrigger.options.join(', ')}.`,
  }
}

function isList(value: Hook | readonly Hook[]): value is readonly Hook[] {
  return Array.isArray(value)
}
