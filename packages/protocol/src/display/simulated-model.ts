const mark = '-simulated'

/** The name of a model that a script plays: its turns are priced like the model's, and nobody pays for them. */
export function simulatedModel(model: string): string {
  return `${model}${mark}`
}

export function isSimulatedModel(model: string): boolean {
  return model.endsWith(mark)
}
