import { budgetKinds, everyBudgetKind, type TaskNode } from '@matrix/protocol'
import * as z from 'zod'

const budgetNames = everyBudgetKind.map((kind) => budgetKinds[kind].budget)

/** The fields of a task that an edit can take away. */
export const RemovableField = z.enum([...budgetNames, 'color', 'skills'])
export type RemovableField = z.infer<typeof RemovableField>

export const removableFields = RemovableField.options

/** Those that travel with a persistent task in its repository. No repository says which skills hold a task. */
export const definedFields = removableFields.filter((name) => name !== 'skills')

export function withoutFields(task: TaskNode, names: readonly RemovableField[]): TaskNode {
  const copy = { ...task }
  for (const name of names) delete copy[name]
  return copy
}

type Values = { [Name in RemovableField]?: TaskNode[Name] | null | undefined }

/** Those of the fields that have a value; `null` is one only for an edit, which takes the field away. */
export function fieldsOf(
  values: Values,
  { nulls = false } = {},
): { [Name in RemovableField]?: NonNullable<TaskNode[Name]> } {
  const given = removableFields.filter((name) => values[name] !== undefined && (nulls || values[name] !== null))
  return Object.fromEntries(given.map((name) => [name, values[name]]))
}
