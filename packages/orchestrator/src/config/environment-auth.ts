import type { AuthGroup } from './settings.ts'

type Lookup = (name: string) => string | undefined

/** The groups that the environment gives where none is configured; the first of them is the default. */
export function environmentAuth(env: Lookup): Record<string, AuthGroup> {
  const anthropicApiKey = read(env, 'ANTHROPIC_API_KEY')
  const claudeOauthToken = read(env, 'CLAUDE_CODE_OAUTH_TOKEN')
  const anthropicBaseUrl = read(env, 'ANTHROPIC_BASE_URL')
  const openaiApiKey = read(env, 'OPENAI_API_KEY')
  const openaiBaseUrl = read(env, 'OPENAI_BASE_URL')

  const groups: Record<string, AuthGroup> = {}
  // An address alone is a server that wants no key; with a key for the other provider, it is a leftover of another program.
  if (anthropicApiKey ?? claudeOauthToken ?? (openaiApiKey ? undefined : anthropicBaseUrl))
    groups.anthropic = {
      provider: 'anthropic',
      // A key says more than a token that another program may have left there.
      ...(anthropicApiKey ? { anthropicApiKey } : claudeOauthToken ? { claudeOauthToken } : {}),
      ...(anthropicBaseUrl && { anthropicBaseUrl }),
    }
  if (openaiApiKey ?? openaiBaseUrl)
    groups.openai = {
      provider: 'openai',
      ...(openaiApiKey && { openaiApiKey }),
      ...(openaiBaseUrl && { openaiBaseUrl }),
    }
  return groups
}

function read(env: Lookup, name: string): string | undefined {
  return env(name)?.trim() || undefined
}
