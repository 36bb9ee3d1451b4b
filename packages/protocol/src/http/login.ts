/** What the riddle of a sign-in is encrypted for, so that the device's key is good for nothing else. */
export const loginLabel = 'matrix-login:v1'

/** What the answer to a challenge signs, so that it is worth nothing for another challenge, device or origin. */
export function loginProofText(challengeId: string, deviceId: string, origin: string): string {
  return `${loginLabel}|${challengeId}|${deviceId}|${origin}`
}
