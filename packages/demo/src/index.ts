export { type DemoOptions, openDemo } from './open-demo.ts'
export { createSample } from './sample.ts'
export { buildStory, goal, type StoryOptions } from './story.ts'
