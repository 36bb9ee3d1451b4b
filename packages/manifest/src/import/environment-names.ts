import { type Gap, type Template, variableName } from './template.ts'

/** Which environment variable stands for what, so that no two secrets get one name and no secret gets two. */
export type EnvironmentNames = {
  /** The name for a thing known by its key; `owner` is the server it belongs to, for when the wanted name is taken. */
  claim(key: string, wanted: string, owner: string): string
  nameOf(gap: Gap, owner: string): string
}

/** Names that the templates themselves give are kept for them. */
export function openEnvironmentNames(templates: readonly Template[]): EnvironmentNames {
  const gaps = templates.flat().filter((part): part is Gap => typeof part !== 'string')
  const taken = new Set(gaps.filter(({ naming }) => naming === 'given').map(({ variable }) => variable))
  const byKey = new Map<string, string>()
  const counts = new Map<string, number>()

  const claim = (key: string, wanted: string, owner: string): string => {
    const known = byKey.get(key)
    if (known !== undefined) return known
    const own = prefixed(wanted, variableName(owner))
    let name = taken.has(wanted) ? own : wanted
    while (taken.has(name)) {
      const count = (counts.get(own) ?? 1) + 1
      counts.set(own, count)
      name = `${own}_${count}`
    }
    taken.add(name)
    byKey.set(key, name)
    return name
  }

  return {
    claim,
    nameOf({ key, variable, naming }, owner) {
      if (naming === 'given') return variable
      if (naming === 'shared') return claim(key, variable, owner)
      return claim(`${owner} ${key}`, prefixed(variable, variableName(owner)), owner)
    },
  }
}

export function prefixed(name: string, owner: string): string {
  return name === owner || name.startsWith(`${owner}_`) ? name : `${owner}_${name}`
}
