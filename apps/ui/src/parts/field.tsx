import type { ComponentProps } from 'react'
import { classes } from './classes.ts'

const look =
  'w-full rounded-md border border-line-strong bg-surface px-2 text-ink focus-visible:outline-offset-0 disabled:opacity-60'

export function Field({ className, ...rest }: ComponentProps<'input'>) {
  return <input {...rest} className={classes(look, 'h-8 pointer-coarse:h-10 pointer-coarse:text-lg', className)} />
}

export function TextArea({ className, ...rest }: ComponentProps<'textarea'>) {
  return <textarea {...rest} className={classes(look, 'resize-y py-1.5 pointer-coarse:text-lg', className)} />
}

export function Choice({ className, ...rest }: ComponentProps<'select'>) {
  return <select {...rest} className={classes(look, 'h-8 pointer-coarse:h-10', className)} />
}
