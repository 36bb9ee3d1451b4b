import type { Address } from '../access/request-guard.ts'

/** Cookies ignore ports, so that the name tells the daemons of one machine apart. */
export function cookieName({ scheme }: Pick<Address, 'scheme'>, port: number): string {
  return `${scheme === 'https' ? '__Host-' : ''}matrix_session_${port}`
}

export function readCookie(header: string | undefined, name: string): string | undefined {
  const prefix = `${name}=`
  return header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(prefix))
    ?.slice(prefix.length)
}

/** Without a value it takes the cookie away. */
export function formatCookie(name: string, value: string | undefined): string {
  const secure = name.startsWith('__Host-') ? '; Secure' : ''
  const lifetime = value === undefined ? '; Max-Age=0' : ''
  return `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=Strict${secure}${lifetime}`
}
