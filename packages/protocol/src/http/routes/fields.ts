import * as z from 'zod'
import { ProjectId } from '../project.ts'

export const text = z.string().max(1_000_000)
export const title = z.string().trim().min(1).max(500)
export const limit = z.coerce.number().int().min(1).max(1000)
export const seq = z.coerce.number().int().min(0)
// A program gives a boolean, and the address bar holds a word.
export const flag = z.union([z.boolean(), z.stringbool()])
// Whoever repeats a request after a lost answer sends the same id, and it counts once.
export const requestId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/)

export const inProject = z.object({ projectId: ProjectId })
/** Task ids may be shortened to their first 8 or more characters. */
export const TaskRef = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{8,26}$/i, 'a task id, or the first 8 or more characters of one')
export const ofTask = inProject.extend({ taskId: TaskRef })

/** What only has to be found again: never a path upwards, an option of a program, or a property that every object has. */
export const reference = (length: number) =>
  z
    .string()
    .min(1)
    .max(length)
    .regex(/^(?![-.\s])(?!.*\.\.)[^\p{Cc}\p{Cs}\\%]+$/u, 'not a name that Matrix gives')
    .refine((text) => text.split(/[./]/).every((part) => !(part in {})), 'not a name that Matrix gives')
export const folderPath = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]+$/, 'a path holds no NUL')
