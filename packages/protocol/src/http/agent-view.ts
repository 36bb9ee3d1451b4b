import * as z from 'zod'
import { Problem, ProjectId } from './project.ts'

/** A server that an agent declares and cannot use, and why. */
export const LeftOutServer = z.object({ alias: z.string(), reason: z.string(), hint: z.string() })
export type LeftOutServer = z.infer<typeof LeftOutServer>

/** Where the manifest of an agent is kept: with Matrix, with the user's data, or in a repository. */
export const AgentSource = z.enum(['shipped', 'user', 'project'])
export type AgentSource = z.infer<typeof AgentSource>

/** An agent that tasks can name. */
export const AgentView = z.object({
  name: z.string(),
  description: z.string(),
  source: AgentSource,
  file: z.string(),
  /** `unapproved` came with a repository and waits for the user; `damaged` cannot be read. */
  state: z.enum(['approved', 'unapproved', 'damaged']),
  isLocked: z.boolean(),
  /** False where another agent of the same name is used instead. */
  isInForce: z.boolean(),
  allowedSideEffects: z.array(z.string()),
  servers: z.array(z.string()),
  leftOut: z.array(LeftOutServer.omit({ hint: true })),
  problem: Problem.nullable(),
})
export type AgentView = z.infer<typeof AgentView>

/** What is shown of an agent before it is added. Nothing of it is in force yet. */
export const AgentProposalView = z.object({
  /** What `addAgent` is given: it adds exactly what was shown. */
  digest: z.string(),
  name: z.string(),
  description: z.string(),
  format: z.string(),
  /** What it may do, in sentences. */
  words: z.array(z.string()),
  servers: z.array(
    z.object({
      alias: z.string(),
      /** The package, file or address that it is pinned to. */
      from: z.string(),
      tools: z.array(z.object({ name: z.string(), sideEffect: z.string(), reason: z.string() })),
    }),
  ),
  leftOut: z.array(LeftOutServer.extend({ code: z.string() })),
  findings: z.array(
    z.object({ severity: z.string(), rule: z.string(), message: z.string(), line: z.number(), column: z.number() }),
  ),
  /** Words in the definitions of tools that speak to the model. */
  suspicions: z.array(z.string()),
  notes: z.array(z.string()),
  /** The agents of this name that are there already. */
  replaces: z.array(z.object({ source: AgentSource, file: z.string() })),
})
export type AgentProposalView = z.infer<typeof AgentProposalView>

export const NewAgentFile = z.object({
  /** What the file is called, without its folder. */
  fileName: z.string().min(1).max(255),
  /** Its bytes, in base64. */
  content: z.base64().max(6_000_000),
  /** Where its relative files start, on the machine of the daemon; the repository of the project when left out. */
  folder: z.string().max(4096).optional(),
  /** What to call the agent, instead of what the file says. */
  name: z.string().max(64).optional(),
  projectId: ProjectId.optional(),
})
export type NewAgentFile = z.infer<typeof NewAgentFile>

export const AgentToAdd = z.object({
  digest: z.string().max(100),
  /** With it, the agent goes into the repository of this project; else it is the user's own, for all projects. */
  projectId: ProjectId.optional(),
  /** Also where servers were left out. */
  skip: z.boolean().optional(),
  /** Also where there is one of this name. */
  replace: z.boolean().optional(),
})
export type AgentToAdd = z.infer<typeof AgentToAdd>
