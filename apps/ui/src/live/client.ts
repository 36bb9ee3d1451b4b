import { createClient } from '@matrix/client'

const key = 'matrix.csrf'

/** What signing in gave this tab, to be sent beside the cookie: the cookie alone would also come from other local pages. */
export const csrfToken = {
  read: (): string | undefined => sessionStorage.getItem(key) ?? undefined,
  keep: (token: string): void => sessionStorage.setItem(key, token),
  forget: (): void => sessionStorage.removeItem(key),
}

/** The daemon that served this page. */
export const client = createClient({ baseUrl: '', csrfToken: csrfToken.read })
