import type { Step } from '@matrix/tooling-proving/obedient-model'
import type { Attack, Family, Layer, Sighting } from '../attack.ts'
import type { Ground, Project } from '../ground.ts'

/** What an attack of an agent needs to know about the machine. */
export type Scene = Ground & { project: Project }

/** An attack that is a call of an agent's tool, which the model makes because it was told to. */
export type StepAttack = Attack & { steps(scene: Scene): readonly Step[] }

type StepFamily = {
  name: string
  files?: Record<string, string>
  attacks: readonly StepAttack[]
  /** What the user does afterwards, which must not set off what an attack has left. */
  afterwards?(scene: Scene): Promise<void>
}

/** A family whose attacks one agent makes one after the other, in one project. */
export function stepFamily({ name, files, attacks, afterwards }: StepFamily): Family {
  return {
    name,
    attacks,
    async run(ground) {
      const scene: Scene = { ...ground, project: await ground.addProject(name.replaceAll(' ', '-'), files) }
      const sightings = new Map<string, Sighting>()
      const steps = attacks.map((attack) => attack.steps(scene))
      const { results } = await ground.perform(scene.project, steps.flat())
      let at = 0
      for (const [index, attack] of attacks.entries()) {
        const count = steps[index]?.length ?? 0
        sightings.set(attack.name, { text: results.slice(at, at + count).join('\n') })
        at += count
      }
      await afterwards?.(scene)
      return sightings
    },
  }
}

/** An attack that is one command of the agent's shell. */
export function command(name: string, layer: Layer, evidence: RegExp, text: (scene: Scene) => string): StepAttack {
  return {
    name,
    layer,
    evidence,
    steps: (scene) => [{ tool: 'bash', input: { command: text(scene), timeout_ms: 20_000 } }],
  }
}

/** An attack that is one call of another tool. */
export function call(
  name: string,
  evidence: RegExp,
  { tool, input }: { tool: string; input: (scene: Scene) => Record<string, unknown> },
): StepAttack {
  return { name, layer: 'kernel', evidence, steps: (scene) => [{ tool, input: input(scene) }] }
}
