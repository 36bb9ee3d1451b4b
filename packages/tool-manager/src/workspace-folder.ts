import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isPlaceholderDigest, type Server, type ServerDraft } from '@matrix/manifest'

/** Of the machine itself: whoever names one of these means it. */
const systemFolders = /^\/(?:bin|dev|etc|lib\w*|opt|proc|run|sbin|sys|usr|var)?(?:\/|$)/
/** What an editor fills in for the folder that is open in it. */
const openFolder = '$env:WORKSPACE_FOLDER'

/**
 * Folders of this machine in the arguments of a server that was never pinned become `/workspace`: no sandbox has them,
 * and what people mean by them is the folder that the agent works in.
 */
export async function offerWorkspace<Draft extends Server | ServerDraft>(
  draft: Draft,
): Promise<{ draft: Draft; notes: string[] }> {
  if (draft.transport !== 'stdio' || !isPlaceholderDigest(draft.package_digest)) return { draft, notes: [] }
  const replaced: string[] = []
  const args = await Promise.all(
    (draft.args ?? []).map(async (text) => {
      const folder = await findFolder(text)
      if (folder === undefined) return text
      replaced.push(folder)
      return `/workspace${text.slice(folder.length)}`
    }),
  )
  const kept = args.filter((text, index) => text !== '/workspace' || args.indexOf(text) === index)
  const notes = replaced.map((folder) => noteOf(draft.alias, folder))
  return { draft: { ...draft, args: replaced.length > 0 ? kept : args }, notes }
}

/** The part of an argument that names a folder: one that exists, or that an example made up. */
async function findFolder(text: string): Promise<string | undefined> {
  if (text === openFolder || text.startsWith(`${openFolder}/`)) return openFolder
  const path = /^~(?=\/|$)/.test(text) ? join(homedir(), text.slice(1)) : text
  if (!isAbsolute(path) || /^\/workspace(?:\/|$)/.test(path)) return undefined
  const found = await stat(path).catch(() => undefined)
  if (found) return found.isDirectory() && !systemFolders.test(path) ? text : undefined
  // `/path/to/folder`, `/Users/name/Desktop`: what has an ending is a file.
  return /^\/(?:path|Users|home)\//.test(path) && !/\.\w+$/.test(path) ? text : undefined
}

function noteOf(alias: string, folder: string): string {
  const what = folder === openFolder ? 'the folder that is open in an editor' : folder
  return `"${alias}" was given ${what}; the lock says /workspace, which is the folder that the agent works in.`
}
