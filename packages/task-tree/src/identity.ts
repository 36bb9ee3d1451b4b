import { MatrixError } from '@matrix/protocol'
import { ownSettings, type Repository } from './repository.ts'

/** Author and committer of a commit in the user's name, as environment variables for git. */
export type Identity = Record<string, string>

const personal = ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL', 'EMAIL']
const shape = /^(.*) <(.*)> \d+ [+-]\d{4}$/

/** Whom git would name for a commit of the user's own, by git's own rules; but a name is never made up from the machine's. */
export async function readIdentity(repository: Repository): Promise<Identity> {
  const given = Object.fromEntries(personal.map((name) => [name, process.env[name]]))
  const ask = async (role: 'AUTHOR' | 'COMMITTER') => {
    const args = ['-c', 'user.useConfigOnly=true', 'var', `GIT_${role}_IDENT`]
    const { text } = await repository.refs(args, { env: { ...ownSettings(), ...given } }).catch((error) => {
      throw new MatrixError(
        'GIT_IDENTITY_MISSING',
        'git does not know who you are, so nothing can be merged in your name',
        {
          cause: error,
        },
      )
    })
    const [, name = '', email = ''] = shape.exec(text().trim()) ?? []
    return { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email }
  }
  return { ...(await ask('AUTHOR')), ...(await ask('COMMITTER')) }
}
