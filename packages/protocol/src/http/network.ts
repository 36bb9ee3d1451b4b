import * as z from 'zod'
import { TaskId } from '../task.ts'
import { ConfigLayer } from './config-view.ts'

export const Port = z.int().min(1).max(65_535)

/** A host that commands reach, and the layer of the settings that lists it. */
export const ListedHost = z.object({ host: z.string(), layer: ConfigLayer })
export type ListedHost = z.infer<typeof ListedHost>

/** A port in the sandbox of a task that this machine's loopback leads to. */
export const Forward = z.object({ id: z.string(), taskId: TaskId, port: Port, localPort: Port, url: z.string() })
export type Forward = z.infer<typeof Forward>
