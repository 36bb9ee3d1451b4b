import { isLiteralCredential, reservedAliases } from '@matrix/manifest'
import { budgetFields, SkillNames } from '@matrix/protocol'
import type { ConfigLayer } from '@matrix/protocol/http'
import { defaultModels } from '@matrix/provider-loop'
import { defaultMaxDepth } from '@matrix/task-tree'
import { findHostRule, whyReserved } from '@matrix/tool-manager'
import * as z from 'zod'
import { flowActions } from '../flow.ts'

const text = z.string().trim().min(1).max(1_000)
const usd = budgetFields.budgetUsd
const tokens = budgetFields.budgetTokens
const minutes = budgetFields.budgetMinutes
const count = (highest: number) => z.int().min(1).max(highest)
const milliseconds = z.int().min(1_000).max(2_147_483_647)
const address = z
  .url({ protocol: /^https?$/, error: 'an http or https address' })
  .refine((url) => !isLiteralCredential('', url), 'an address without a credential in it')

/** The name of an auth group, a server or a manifest: no dot, so that it can stand in a dotted key. */
const EntryName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'letters, digits, - and _, at most 64')

/** An alias that a server of the settings can have: none of those that stand for Matrix's own tools. */
function isServerName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]|_(?!_)){0,31}$/.test(name) && !reservedAliases.includes(name)
}

/** A variable that may be passed into a sandbox. */
const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'the name of a variable')
  .superRefine((name, context) => {
    const reason = whyReserved(name)
    if (reason) context.addIssue({ code: 'custom', message: `another name: ${name} ${reason}` })
  })

/** A credential, or `$env:NAME` for one that is kept elsewhere. */
const credential = z.string().trim().min(1).max(10_000)

const authFields = z.strictObject({
  provider: z.enum(['anthropic', 'openai']).optional(),
  anthropicApiKey: credential.optional(),
  claudeOauthToken: credential.optional(),
  anthropicBaseUrl: address.optional(),
  openaiApiKey: credential.optional(),
  openaiBaseUrl: address.optional(),
})

/** How to reach one provider. Without `provider`, the kind of key tells which it is. */
export type AuthGroup = z.infer<typeof authFields>
const AuthGroup = authFields.refine(
  (group) => providerOf(group) !== undefined,
  'either of Anthropic or of OpenAI, with the keys of that one only',
)

/** The provider that a group's keys are for; undefined when they are for two, or for another than it says. */
export function providerOf(group: AuthGroup): 'anthropic' | 'openai' | undefined {
  const given = Object.keys(group).filter((key) => key !== 'provider' && group[key as keyof AuthGroup] !== undefined)
  const isOpenai = given.some((key) => key.startsWith('openai'))
  const isAnthropic = given.some((key) => !key.startsWith('openai'))
  if (isOpenai && isAnthropic) return undefined
  const found = isOpenai ? 'openai' : isAnthropic ? 'anthropic' : group.provider
  return group.provider === undefined || group.provider === found ? found : undefined
}

/** Dollars per million tokens. A cache that has no price of its own costs what input does. */
const ModelPrice = z.strictObject({
  input: usd,
  output: usd,
  cacheRead: usd.optional(),
  cacheWrite: usd.optional(),
})
export type ModelPrice = z.infer<typeof ModelPrice>

/** A program that speaks MCP over stdio. */
const McpServerConfig = z.strictObject({
  command: text,
  args: z.array(z.string().max(10_000)).max(1_000).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a variable name'), z.string().max(10_000)).optional(),
})
export type McpServerConfig = z.infer<typeof McpServerConfig>

const hostSpelling = 'a host in lower case without a scheme or a path, such as example.com or *.example.com:8443'

const FlowRules = z.partialRecord(z.enum(flowActions), z.enum(['allow', 'ask', 'deny']))

/** What they serve is what a project is built from, as much as its own files are. */
const publicRegistries = [
  ...['registry.npmjs.org', 'registry.yarnpkg.com'],
  ...['pypi.org', 'files.pythonhosted.org'],
  ...['index.crates.io', 'static.crates.io'],
  ...['proxy.golang.org', 'sum.golang.org'],
  ...['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'plugins-artifacts.gradle.org'],
  ...['rubygems.org', 'index.rubygems.org'],
]

function isTrustedSource(entry: string): boolean {
  return entry.startsWith('@') ? isServerName(entry.slice(1)) : findHostRule(entry) !== undefined
}

const webAuth = {
  sessionIdleMs: milliseconds,
  sessionMaxMs: milliseconds,
  allowedHosts: z.array(text).max(100),
}

const watching = { otlpEndpoint: address, metrics: z.boolean() }

/**
 * How the layers come together. `override`: the highest layer wins. `tighten`: the same, but a repository can only make it
 * smaller. `named`: the union of the entries, each from the highest layer that has it. `add`: every layer adds to the list.
 */
type Merge = 'override' | 'tighten' | 'named' | 'add'

export type Setting = {
  description: string
  schema: z.ZodType
  /** The layers that may set it. What a clone could use against its user is only for the user's own two. */
  layers: readonly ConfigLayer[]
  merge: Merge
  default?: unknown
  /** For `named`: the schema of one entry, if there can be one of that name. */
  entry?: (name: string) => z.ZodType | undefined
}

const anywhere = ['global', 'repo', 'local'] as const
const usersOwn = ['global', 'local'] as const
const daemonOnly = ['global'] as const

/** Every key there is. */
export const settings = {
  authGroups: {
    description: 'Credentials of model providers, by a name of your own.',
    schema: z.record(EntryName, AuthGroup),
    entry: (name) => (EntryName.safeParse(name).success ? AuthGroup : undefined),
    layers: usersOwn,
    merge: 'named',
    default: {},
  },
  defaultAuth: {
    description: 'The auth group of root agents; the one called "default", or else the first, when left out.',
    schema: EntryName,
    layers: usersOwn,
    merge: 'override',
  },
  model: {
    description: `The model of root agents. Default: ${defaultModels.anthropic} or ${defaultModels.openai}, by provider.`,
    schema: text,
    layers: anywhere,
    merge: 'override',
  },
  childAuth: {
    description: 'The auth group of sub tasks; that of the root, when left out.',
    schema: EntryName,
    layers: usersOwn,
    merge: 'override',
  },
  childModel: {
    description: 'The model of sub tasks; that of the root, when left out.',
    schema: text,
    layers: anywhere,
    merge: 'override',
  },
  fallbackModels: {
    description: 'Where to go on when a provider fails, in this order.',
    schema: z.array(z.strictObject({ auth: EntryName, model: text })).max(10),
    layers: usersOwn,
    merge: 'override',
    default: [],
  },
  agent: {
    description: 'The manifest of root agents, by name.',
    schema: EntryName,
    layers: usersOwn,
    merge: 'override',
    default: 'default',
  },
  childAgent: {
    description: 'The manifest of sub tasks, by name; that of the task above, when left out. It never allows more.',
    schema: EntryName,
    layers: anywhere,
    merge: 'override',
  },
  budgetUsd: {
    description: 'What one task may cost in dollars. A repository can only lower it.',
    schema: usd,
    layers: anywhere,
    merge: 'tighten',
  },
  treeBudgetUsd: {
    description: 'What a whole tree may cost in dollars. A repository can only lower it.',
    schema: usd,
    layers: anywhere,
    merge: 'tighten',
  },
  budgetTokens: {
    description: 'How many tokens one task may use, cached ones included. A repository can only lower it.',
    schema: tokens,
    layers: anywhere,
    merge: 'tighten',
  },
  treeBudgetTokens: {
    description: 'How many tokens a whole tree may use, cached ones included. A repository can only lower it.',
    schema: tokens,
    layers: anywhere,
    merge: 'tighten',
  },
  budgetMinutes: {
    description: 'How many minutes the agent of one task may be at work. A repository can only lower it.',
    schema: minutes,
    layers: anywhere,
    merge: 'tighten',
  },
  treeBudgetMinutes: {
    description: 'How many minutes the agents of a tree may be at work, added up. A repository can only lower it.',
    schema: minutes,
    layers: anywhere,
    merge: 'tighten',
  },
  prices: {
    description: 'Prices by model, in dollars per million tokens: `input`, `output`, `cacheRead`, `cacheWrite`.',
    schema: z.record(text, ModelPrice),
    entry: () => ModelPrice,
    layers: usersOwn,
    merge: 'named',
    default: {},
  },
  maxDepth: {
    description: 'How deep tasks may be nested. A repository can only lower it.',
    schema: count(20),
    layers: anywhere,
    merge: 'tighten',
    default: defaultMaxDepth,
  },
  maxTurns: {
    description: 'How many turns an agent may take from start or resume to its end. A repository can only lower it.',
    schema: count(1_000_000),
    layers: anywhere,
    merge: 'tighten',
  },
  modelAttempts: {
    description: 'How often a model is asked for one turn before the agent stops. The waits between add up to minutes.',
    schema: count(100),
    layers: usersOwn,
    merge: 'override',
    default: 9,
  },
  modelTimeoutMs: {
    description: 'How long a model may send nothing before it is asked again, in ms. Raise it for slow local models.',
    schema: milliseconds,
    layers: usersOwn,
    merge: 'override',
    default: 300_000,
  },
  maxConcurrentModelCalls: {
    description: 'How many model calls run at once, over all projects.',
    schema: count(1_000),
    layers: daemonOnly,
    merge: 'override',
    default: 8,
  },
  maxConcurrentHeavyTools: {
    description: 'How many commands run at once, over all projects.',
    schema: count(1_000),
    layers: daemonOnly,
    merge: 'override',
    default: 4,
  },
  toolTimeoutMs: {
    description:
      'How long a call of a tool server may take without reporting progress, in ms; six times as long in all. Does not apply to tools with a limit of their own, such as bash. Default: 600000.',
    schema: milliseconds,
    layers: usersOwn,
    merge: 'override',
  },
  clarifyTimeoutMs: {
    description: 'After how long a question answers itself with "nobody is there"; never, when left out.',
    schema: milliseconds,
    layers: anywhere,
    merge: 'override',
  },
  mcpServers: {
    description: 'Further tool servers, by alias. Those of a repository start only once you have approved them.',
    schema: z.record(EntryName, McpServerConfig),
    entry: (name) => (isServerName(name) ? McpServerConfig : undefined),
    layers: anywhere,
    merge: 'named',
    default: {},
  },
  deny: {
    description: 'Tools that no agent may call, such as "bash", "merge_task" or "@github/*". Every layer adds to it.',
    schema: z.array(text).max(1_000),
    layers: anywhere,
    merge: 'add',
    default: [],
  },
  skills: {
    description:
      'Skills that every agent of the project is held to: each of them has to allow a call. Every layer adds to it.',
    schema: SkillNames,
    layers: usersOwn,
    merge: 'add',
    default: [],
  },
  hosts: {
    description:
      'Hosts that commands in the sandbox reach: "example.com", "*.example.com", "example.com:8443", or "*" for every public one. Every layer adds to it.',
    schema: z.array(text.refine((host) => findHostRule(host) !== undefined, hostSpelling)).max(1_000),
    layers: usersOwn,
    merge: 'add',
    default: [],
  },
  trustedSources: {
    description:
      'Whose content counts as trusted: hosts that commands download from, and tool servers as "@alias". Your list replaces the default, which is the public package registries. The registries of your own settings always count.',
    schema: z.array(text.refine(isTrustedSource, `${hostSpelling}, or a tool server as @alias`)).max(1_000),
    layers: usersOwn,
    merge: 'override',
    default: publicRegistries,
  },
  afterUntrusted: {
    description:
      'What agents do once untrusted content is in their conversation, by agent or "*" for all: allow, ask or deny for `host`, `server`, `project`, `agent`, `autorun`. Default: ask.',
    schema: z.record(z.union([z.literal('*'), EntryName]), FlowRules),
    entry: (name) => (name === '*' || EntryName.safeParse(name).success ? FlowRules : undefined),
    layers: usersOwn,
    merge: 'named',
    default: {},
  },
  messagesTo: {
    description:
      'Projects, by id, whose root agent the agents here may message without asking you. An agent that may do less than the receiver asks each time. Every layer adds to it.',
    schema: z.array(text).max(1_000),
    layers: usersOwn,
    merge: 'add',
    default: [],
  },
  sandbox: {
    description: 'Whether tools run in a box: where possible (auto), always (required) or never (off).',
    schema: z.enum(['auto', 'required', 'off']),
    layers: daemonOnly,
    merge: 'override',
    default: 'auto',
  },
  commitHooks: {
    description:
      "Whether the repository's own commit hooks run when an agent commits, always in its sandbox (run), or not (skip).",
    schema: z.enum(['skip', 'run']),
    layers: usersOwn,
    merge: 'override',
    default: 'skip',
  },
  environment: {
    description: 'Variables of your environment that sandboxes get too, beside the usual ones. Never a credential.',
    schema: z.array(VariableName).max(200),
    layers: usersOwn,
    merge: 'add',
    default: [],
  },
  setupTimeoutMs: {
    description: 'How long the setup of a worktree can take, in ms.',
    schema: milliseconds,
    layers: usersOwn,
    merge: 'override',
    default: 30 * 60_000,
  },
  cacheLimitGb: {
    description: 'How large the home of a project’s sandboxes may grow, in GB, before its caches are emptied.',
    schema: z.number().min(1).max(100_000),
    layers: usersOwn,
    merge: 'override',
    default: 20,
  },
  durability: {
    description: 'Whether an event is on disk before work goes on (durable), or soon after (relaxed).',
    schema: z.enum(['durable', 'relaxed']),
    layers: daemonOnly,
    merge: 'override',
    default: 'durable',
  },
  sessionKeep: {
    description: 'How many ended sessions of a project are kept; all, when left out.',
    schema: z.int().nonnegative().max(1_000_000),
    layers: usersOwn,
    merge: 'override',
  },
  port: {
    description: 'The port of the daemon.',
    schema: z.int().min(1).max(65_535),
    layers: daemonOnly,
    merge: 'override',
    default: 7433,
  },
  auth: {
    description: 'How long a browser stays signed in, and under which further host names the daemon answers.',
    schema: z.strictObject(webAuth).partial(),
    entry: (name) => (Object.hasOwn(webAuth, name) ? webAuth[name as keyof typeof webAuth] : undefined),
    layers: daemonOnly,
    merge: 'named',
    default: {},
  },
  telemetry: {
    description:
      'Where traces are sent (`otlpEndpoint`, OTLP over HTTP), and whether the daemon counts what happens (`metrics`).',
    schema: z.strictObject(watching).partial(),
    entry: (name) => (Object.hasOwn(watching, name) ? watching[name as keyof typeof watching] : undefined),
    layers: daemonOnly,
    merge: 'named',
    default: {},
  },
  selfBootstrap: {
    description: 'Can only be false: Matrix works on its own repository as on any other.',
    schema: z
      .boolean()
      .refine((isOn) => !isOn, 'false: Matrix works on its own repository as on any other, without a mode'),
    layers: usersOwn,
    merge: 'override',
    default: false,
  },
} as const satisfies Record<string, Setting>

export type SettingKey = keyof typeof settings

/** What a file of settings may hold. */
export type MatrixConfig = { [Key in SettingKey]?: z.infer<(typeof settings)[Key]['schema']> }

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(settings, key)
}

/** The steps of a key such as `authGroups.work.openaiApiKey`. Names of models have dots of their own: `prices.gpt-4.1.input`. */
export function stepsOf(key: string): string[] {
  const steps = key.split('.')
  if (steps[0] !== 'prices' || steps.length < 3) return steps
  const hasField = Object.hasOwn(ModelPrice.shape, steps.at(-1) ?? '')
  const model = steps.slice(1, hasField ? -1 : undefined).join('.')
  return ['prices', model, ...(hasField ? steps.slice(-1) : [])]
}

export function settingOf(key: SettingKey): Setting {
  return settings[key]
}

const secretFields = new Set(['anthropicApiKey', 'claudeOauthToken', 'openaiApiKey'])

/** Whether the value at this path is a credential: one of an auth group, or what looks like one in a server's launch. */
export function isSecret(path: readonly (string | number)[], value: unknown): boolean {
  const [key, , field, name] = path
  if (typeof value !== 'string') return false
  if (key === 'authGroups') return secretFields.has(String(field)) && !isReference(value)
  if (key !== 'mcpServers') return false
  const [, option = '', given = value] = (field === 'args' && /^-*([\w.-]+)=(.*)$/s.exec(value)) || []
  return isLiteralCredential(field === 'env' ? String(name) : option, given)
}

/** `$env:NAME` and nothing else. */
export function isReference(value: string): boolean {
  return /^\$env:[A-Za-z_][A-Za-z0-9_]*$/.test(value)
}
