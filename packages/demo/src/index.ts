export { createSample } from './sample.ts'
export { buildStory, goal, type StoryOptions } from './story.ts'
