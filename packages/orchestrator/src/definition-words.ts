import { digestValue, formatDefinitionFinding, lintDefinitions, type SideEffect } from '@matrix/manifest'
import type { ToolSpec } from '@matrix/protocol'
import type { ApprovalMemory } from '@matrix/tool-manager'
import type { Ask } from './server-approval.ts'
import type { World } from './world.ts'

/** A tool as a model would be told of it, with its address and class for the user who is asked. */
export type Told = { spec: ToolSpec; uri: string; sideEffect: SideEffect }

export type DefinitionWords = {
  /** Those of which a model may be told. The user is asked about the others; where none can be asked, they stay withheld. */
  tellable(tools: readonly Told[], ask: Ask | undefined): ToolSpec[]
}

type Ports = {
  world: Pick<World, 'clock'>
  /** The definitions whose words the user has approved, by digest. */
  approved: ApprovalMemory
  onApproved(): void
  onProblem(error: unknown, about: string): void
}

const PATIENCE_MS = 365 * 24 * 3600 * 1000

/** Withholds definitions that speak to the model, such as `ignore all previous instructions`, until the user has approved exactly those words. */
export function openDefinitionWords({ world, approved, onApproved, onProblem }: Ports): DefinitionWords {
  // What is in the inbox or was denied is not asked again for as long as this process lives.
  const asked = new Set<string>()

  async function put({ spec, uri, sideEffect }: Told, { digest, words }: Flagged, ask: Ask): Promise<void> {
    const answer = await ask({
      id: `words-${digest}`,
      uri,
      side_effect_class: sideEffect,
      input: { words, description: spec.description, inputSchema: spec.inputSchema },
      inputDigest: digest,
      reason:
        'Its definition holds words that speak to the model. If you approve them, tasks that start afterwards have this tool.',
      expiresAt: world.clock.now() + PATIENCE_MS,
      scopes: ['always'],
    })
    if (answer.decision === 'deny') return
    approved.add(digest)
    onApproved()
  }

  return {
    tellable: (tools, ask) =>
      tools.flatMap((told) => {
        const flagged = findFlagged(told.spec)
        if (!flagged || approved.has(flagged.digest)) return [told.spec]
        if (ask && !asked.has(flagged.digest)) {
          asked.add(flagged.digest)
          void put(told, flagged, ask).catch((error) => onProblem(error, told.uri))
        }
        return []
      }),
  }
}

type Flagged = { digest: string; words: string[] }

/** The digest is of everything that the model would read, so another definition is another question. */
function findFlagged(spec: ToolSpec): Flagged | undefined {
  const { name, description, inputSchema } = spec
  const grave = lintDefinitions([{ name, description, inputSchema }]).filter(({ severity }) => severity === 'high')
  if (grave.length === 0) return undefined
  return { digest: digestValue({ name, description, inputSchema }), words: grave.map(formatDefinitionFinding) }
}
