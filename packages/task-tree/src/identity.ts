import { MatrixError } from '@matrix/protocol'
import { runGit } from './git.ts'
import { ownSettings, type Repository } from './repository.ts'

/** Author and committer of a commit in the user's name, as environment variables for git. */
export type Identity = Record<string, string>

const personal = ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL', 'EMAIL']
const shape = /^(.*) <(.*)> \d+ [+-]\d{4}$/

/** In whose name agents commit in this checkout, as `Ada <ada@example.com>`. Throws where git does not know. */
export async function findIdentity(checkout: string): Promise<string> {
  const refs: Repository['refs'] = (args, options) => runGit(['-C', checkout, ...args], options)
  const { GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL } = await readIdentity({ refs })
  return `${GIT_AUTHOR_NAME} <${GIT_AUTHOR_EMAIL}>`
}

/** The name git would give to a commit of the user, by git's own rules, but never one guessed from the machine's. */
export async function readIdentity(repository: Pick<Repository, 'refs'>): Promise<Identity> {
  const given = Object.fromEntries(personal.map((name) => [name, process.env[name]]))
  const ask = async (role: 'AUTHOR' | 'COMMITTER') => {
    const args = ['-c', 'user.useConfigOnly=true', 'var', `GIT_${role}_IDENT`]
    const { text } = await repository.refs(args, { env: { ...ownSettings(), ...given } }).catch((error) => {
      throw new MatrixError(
        'GIT_IDENTITY_MISSING',
        'git does not know your name and email address, which every commit needs',
        { cause: error },
      )
    })
    const [, name = '', email = ''] = shape.exec(text().trim()) ?? []
    return { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email }
  }
  return { ...(await ask('AUTHOR')), ...(await ask('COMMITTER')) }
}
