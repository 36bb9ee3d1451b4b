import type { Ground } from './ground.ts'

/** What stopped an attack. */
export type Layer = 'kernel' | 'proxy' | 'gate' | 'verify' | 'store' | 'git' | 'review' | 'approval' | 'http' | 'prompt'

/** What the attacker saw. Sinks decide whether the attack reached anything; this only shows that it was really made. */
export type Sighting = {
  text: string
  /** What the model's provider was sent. It holds the attacker's own words, so only secrets are looked for in it. */
  told?: string
}

export type Attack = {
  name: string
  /** What is expected to stop it, and the words in a sighting that prove it. */
  layer: Layer
  evidence: RegExp
}

/** Attacks that are made together, on one project or one server. */
export type Family<Machine = Ground> = {
  name: string
  attacks: readonly Attack[]
  /** Makes every attack. The answer has a sighting for each, by its name. */
  run(ground: Machine): Promise<ReadonlyMap<string, Sighting>>
}

export type Outcome = {
  family: string
  attack: Attack
  /** What of the attack arrived where it must not. */
  reached: readonly string[]
  /** The words that show what stopped it. Without any, the attack was perhaps never made. */
  evidence: string | undefined
  /** All that the attacker saw. */
  seen: string
}

export function isStopped({ reached, evidence }: Outcome): boolean {
  return reached.length === 0 && evidence !== undefined
}

/** Makes the attacks of a family, then looks into every sink. */
export async function runFamily<Machine extends Pick<Ground, 'sinks' | 'secrets'>>(
  family: Family<Machine>,
  ground: Machine,
): Promise<Outcome[]> {
  const sightings = await family.run(ground)
  const reached = await ground.sinks.drain()
  const known = new Set(family.attacks.map(({ name }) => tagOf(name)))
  const stray = reached.find(({ tag }) => !known.has(tag))
  if (stray) throw new Error(`${family.name}: ${stray.where}, by ${stray.tag}, which is no attack of this family.`)
  return family.attacks.map((attack) => {
    const { text, told = '' }: Sighting = sightings.get(attack.name) ?? { text: '' }
    const own = reached.filter(({ tag }) => tag === tagOf(attack.name))
    const leaked = ground.secrets.flatMap((secret) => [
      ...(text.includes(secret) ? ['the attacker read a secret'] : []),
      ...(told.includes(secret) ? ['the model was told a secret'] : []),
    ])
    return {
      family: family.name,
      attack,
      reached: [...own.map(({ where }) => where), ...leaked],
      evidence: attack.evidence.exec(text)?.[0],
      seen: text,
    }
  })
}

/** A short word for an attack that it carries to a sink, so that what arrives there is known to be its own. */
export function tagOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60)
}
