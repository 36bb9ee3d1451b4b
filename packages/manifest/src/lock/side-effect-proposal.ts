import { excerpt } from '../diff/text-diff.ts'
import type { SideEffect } from '../manifest/manifest.ts'
import type { ToolSurface } from './surface.ts'

/** A class for a person to confirm, with the reason in words. */
export type SideEffectProposal = {
  class: Exclude<SideEffect, 'chain'>
  reason: string
  /** Nothing says what the tool does. The class keeps it from agents; it is no reason to let one have that class. */
  isDoubtful?: true
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const shellWords = words('bash cmd powershell pwsh sh shell ssh subprocess sudo terminal zsh')
/** What runs something; only together with what is run does it say that this is a program. */
const runWords = words('eval exec execute invoke kill launch run spawn start')
const programWords = words('binary code command commands executable process program python script scripts')
const networkWords = words(
  'api aws azure browse browser bucket cloud crawl discord dns download email emails fetch gcp github gitlab google http https internet jira kafka linear mail navigate news notion online publish s3 scrape send slack sms stripe tweet twitter upload url urls web webhook website websites wikipedia youtube',
)
const writeWords = words(
  'add append apply approve archive assign cancel change clear close commit copy create delete destroy disable drop edit enable erase fork format import insert install lock make merge modify move mutate overwrite patch pause post purge push put record register rename replace reset restore resume revert save set start stop store submit sync toggle touch transfer trigger truncate undo unlock update upsert write',
)
const readWords = words(
  'check count describe diff directory echo explain find get grep head info inspect list look lookup open peek preview query read resolve retrieve search show stat status summarize tail tree validate view',
)
const localWords = words('directories directory file files folder folders graph memory node nodes path paths workspace')

const commandPhrase =
  /\b(?:shell|command[- ]line|terminal|subprocess|arbitrary code|(?:execut|run|evaluat|interpret)(?:e|es|s|ing)? (?:\w+ ){0,3}(?:commands?|code|scripts?|programs?|processes|binar(?:y|ies)))\b/i
const networkParameter = /^(?:.*_)?(?:url|urls|uri|endpoint|host|hostname|domain|webhook|recipient|to_email)$/i
const localParameter = /^(?:.*_)?(?:path|paths|file|files|file_?name|file_?path|dir|directory|folder)$/i

/**
 * What a tool seems to do, from its name, description, parameters and annotations. Strength wins over number: one sign of
 * something stronger is enough, and a server's assurance alone never outweighs one. What says nothing counts as the worst
 * and is doubtful.
 */
export function proposeSideEffect(tool: ToolSurface): SideEffectProposal {
  const shell = shellReason(tool)
  if (shell) return { class: 'shell', reason: shell }
  const network = networkReason(tool)
  if (network) return { class: 'network', reason: network }

  const verb = wordsOf(tool.name)[0] ?? ''
  if (runWords.has(verb) && !writeWords.has(verb))
    return { class: 'shell', reason: `its name says "${verb}" and nothing says what it runs`, isDoubtful: true }
  const write = writeReason(tool)
  const read = readReason(tool)
  if (!write && !read)
    return {
      class: 'shell',
      reason: 'neither its name nor its server says what it does, so it may do anything',
      isDoubtful: true,
    }
  if (!isLocal(tool))
    return {
      class: 'network',
      reason: `${write ?? read}, and nothing says that it stays on this machine`,
      isDoubtful: true,
    }
  return write ? { class: 'write', reason: write } : { class: 'read', reason: read ?? '' }
}

function shellReason({ name, description = '' }: ToolSurface): string | undefined {
  const parts = wordsOf(name)
  const word = parts.find((each) => shellWords.has(each))
  if (word) return `its name says "${word}"`
  const program = parts.some((each) => runWords.has(each)) && parts.find((each) => programWords.has(each))
  if (program) return `its name says that it runs a ${program.replace(/s$/, '')}`
  const phrase = commandPhrase.exec(description)?.[0]
  return phrase && `its description speaks of "${excerpt(phrase, 40)}"`
}

function networkReason({ name, description = '', inputSchema, annotations }: ToolSurface): string | undefined {
  if (annotations?.openWorldHint === true) return 'its server says that it reaches out into the open world'
  const word = wordsOf(name).find((each) => networkWords.has(each))
  if (word) return `its name says "${word}"`
  const spoken = wordsOf(firstSentence(description)).find((each) => networkWords.has(each))
  if (spoken) return `its description speaks of "${spoken}"`
  const parameter = parametersOf(inputSchema).find((each) => networkParameter.test(each))
  return parameter && `it takes a parameter "${excerpt(parameter, 40)}"`
}

function writeReason({ name, description = '', annotations }: ToolSurface): string | undefined {
  const word = wordsOf(name).find((each) => writeWords.has(each))
  if (word) return `its name says "${word}"`
  if (annotations?.readOnlyHint === false) return 'its server says that it is not read-only'
  if (annotations?.destructiveHint === true && annotations.readOnlyHint !== true)
    return 'its server says that it is destructive'
  const verb = verbOf(description)
  return verb && writeWords.has(verb) ? `its description begins with "${verb}"` : undefined
}

function readReason({ name, description = '', annotations }: ToolSurface): string | undefined {
  const word = wordsOf(name).find((each) => readWords.has(each))
  if (word) return `its name says "${word}" and nothing says that it changes anything`
  const verb = verbOf(description)
  if (verb && readWords.has(verb))
    return `its description begins with "${verb}" and nothing says that it changes anything`
  return annotations?.readOnlyHint === true ? 'only its server says that it is read-only' : undefined
}

function isLocal({ name, inputSchema, annotations }: ToolSurface): boolean {
  if (annotations?.openWorldHint === false) return true
  const parameters = parametersOf(inputSchema)
  if (parameters.length > 0) return parameters.some((each) => localParameter.test(each))
  return wordsOf(name).some((each) => localWords.has(each))
}

function parametersOf({ properties }: ToolSurface['inputSchema']): string[] {
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** `getFileInfo` and `get_file_info` are the same words; `GitHub` stays one as well. */
function wordsOf(text: string): string[] {
  const split = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  return `${split} ${text}`
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
}

function firstSentence(text: string): string {
  return text.slice(0, 400).split(/[.\n](?:\s|$)/, 1)[0] ?? ''
}

/** `Creates` and `Create` are the same verb. */
function verbOf(description: string): string | undefined {
  const first = wordsOf(firstSentence(description))[0]
  if (first === undefined) return undefined
  return [first, first.replace(/s$/, ''), first.replace(/es$/, '')].find(
    (verb) => writeWords.has(verb) || readWords.has(verb),
  )
}
