/** What a fresh checkout of one part of a project needs. */
export type Step = {
  /** The package manager. */
  ecosystem: string
  /** The file that says so. */
  because: string
  /** The program that has to be installed. */
  needs: string
  /** Nothing, where the files say that nothing has to be fetched. */
  commands: string[]
  test?: string | undefined
}
