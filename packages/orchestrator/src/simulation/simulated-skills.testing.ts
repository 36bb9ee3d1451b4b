import type { SkillFile, SkillFolders } from '../skills/skill-shelf.ts'

/** A skill folder by its files; what a test changes in `files` has changed in the folder. */
export type PlantedSkill = { name: string; source: 'home' | 'repository'; files: Record<string, string> }

const copies = new WeakMap<PlantedSkill[], Map<string, SkillFile[]>>()

/** Copies outlive the process, as they do on a disk. */
export function simulateSkills(planted: PlantedSkill[]): SkillFolders {
  const kept = copies.get(planted) ?? new Map<string, SkillFile[]>()
  copies.set(planted, kept)
  return {
    find: async () => planted.map(({ name, source }) => ({ name, source, path: name, shown: name, inside: '/' })),
    read: async ({ name }) => filesOf(planted.find((each) => each.name === name)?.files ?? {}),
    async keep(name, files) {
      kept.set(name, [...files])
      return `/skills/${name}`
    },
    async readKept(name) {
      const files = kept.get(name)
      if (!files) throw new Error(`no copy ${name}`)
      return { path: `/skills/${name}`, files }
    },
  }
}

function filesOf(files: Record<string, string>): SkillFile[] {
  return Object.entries(files)
    .map(([path, text]) => ({ path, bytes: Buffer.from(text), isExecutable: path.startsWith('scripts/') }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}
