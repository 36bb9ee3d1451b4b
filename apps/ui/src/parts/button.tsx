import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'

const looks: Record<Look, string> = {
  primary: 'border-transparent bg-accent text-accent-ink hover:brightness-110',
  plain: 'border-line bg-surface text-ink hover:bg-hover',
  quiet: 'border-transparent bg-transparent text-ink-2 hover:bg-hover hover:text-ink',
  danger: 'border-transparent bg-bad-soft text-bad hover:brightness-95 dark:hover:brightness-125',
}

type ButtonProps = ComponentProps<'button'> & {
  look?: Look
  size?: 'small' | 'normal'
  icon?: ReactNode
  /** A key that does the same, shown beside the label. */
  shortcut?: string
  isBusy?: boolean
}

export function Button({
  look = 'plain',
  size = 'normal',
  icon,
  shortcut,
  isBusy = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classes(
        'inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium transition-colors disabled:opacity-50',
        size === 'small' ? 'h-6 px-2 text-sm' : 'h-8 px-3 text-base pointer-coarse:h-10',
        looks[look],
        className,
      )}
    >
      {icon}
      {children}
      {shortcut ? <Key>{shortcut}</Key> : null}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'icon' | 'children' | 'aria-label'> & { label: string; children: ReactNode }

/** A button that shows only a picture: the label is for screen readers and the browser's own tooltip. */
export function IconButton({ label, children, size = 'normal', look = 'quiet', className, ...rest }: IconButtonProps) {
  return (
    <Button
      {...rest}
      look={look}
      size={size}
      aria-label={label}
      title={rest.title ?? label}
      className={classes(size === 'small' ? 'w-6 px-0!' : 'w-8 px-0! pointer-coarse:w-10', className)}
    >
      {children}
    </Button>
  )
}

/** A key of the keyboard. */
export function Key({ children }: { children: ReactNode }) {
  return (
    <kbd className="pointer-coarse:hidden rounded-sm border border-current/25 px-1 font-sans text-xs leading-4 opacity-80">
      {children}
    </kbd>
  )
}
