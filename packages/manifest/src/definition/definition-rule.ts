/** `high` has no place in a definition; `medium` is also said by honest servers, so a user reads it and decides. */
export type DefinitionSeverity = 'high' | 'medium'

export type DefinitionRule = { title: string; severity: DefinitionSeverity; patterns: readonly RegExp[] }

const secret =
  '(?:api[ _-]?keys?|passwords?|passwd|credentials?|(?:access|auth|bearer|session) tokens?|secrets?|private keys?|ssh keys?|environment variables?|env vars?)'
const take =
  '(?:read|open|cat|load|fetch|collect|gather|extract|include|pass|send|append|attach|provide|copy|dump|upload|forward|retrieve|embed|insert|put)'
const talk =
  '(?:(?:chat|message|dialogue?|session|prompt)[ _-](?:history|context|log|transcript)s?|conversations?|(?:recent|original|last|first) (?:message|prompt|request))'
const hide = '(?:tell|mention|inform|notify|reveal|disclose|alert|warn|explain|announce|report|show|display)'

/** What definitions are poisoned with, by family. Ids are stable: programs read them. */
export const definitionRules = {
  'hidden-characters': { title: 'holds characters that are not visible', severity: 'high', patterns: [] },
  'chat-marker': {
    title: 'imitates the markup of a conversation',
    severity: 'high',
    patterns: [
      /<\/?\s*(?:important|system|secret|critical|instructions?|hidden|admin|assistant|user_?prompt|priority|mandatory|internal)\s*>/i,
      /<\|[\w-]{2,30}\|>|\[\/?(?:INST|SYS(?:TEM)?)\]|<<\/?SYS>>/i,
      /<!--[\s\S]{0,400}?\b(?:must|always|never|ignore|instructions?|send|read|call|execute|you)\b/i,
      /#{2,4}\s*(?:system|instructions?)\s*:/i,
    ],
  },
  override: {
    title: 'gives the model orders that replace others',
    severity: 'high',
    patterns: [
      /\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|es|ing)|bypass(?:ing)?|supersedes?)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|existing|original|system|safety|security|your|other|user(?:'s)?)\b[^.\n]{0,20}\b(?:instructions?|prompts?|rules|guidelines|directives?|restrictions|constraints|polic(?:y|ies)|requests?)\b/i,
      /\b(?:system|admin(?:istrator)?|security|developer|hidden|internal|priority|critical|mandatory|new)\s+(?:instructions?|directives?|override|notice|message|prompt|policy update)\s*[:\]]/i,
      /(?:^|[\s[(])SYSTEM(?: NOTE)?\s*:/,
      /\b(?:ignor(?:e|es|ing)|disregard|overrid(?:e|es|ing)|bypass(?:es|ing)?|disabl(?:e|es|ing))\b[^.\n]{0,20}\b(?:content|safety|security|ethical)\b[^.\n]{0,12}\b(?:filters?|training|measures|safeguards?|checks|rules|guidelines|restrictions|polic(?:y|ies))\b/i,
      /\boverrid(?:e|es|ing)\b[^.\n]{0,12}\b(?:all|any|every)\b[^.\n]{0,12}\b(?:instructions?|directives?|training)\b/i,
      /\bpretend (?:to be|that you are|you are|you['’]re)\b|\bact as (?:if you were|though you were)\b/i,
      /\b(?:curl|wget)\b[^\n|]{0,120}\|\s*(?:ba|z|da)?sh\b/i,
      /\byou are now (?:in|a|an|the)\b|\b(?:developer|god|admin|unrestricted|maintenance) mode\b[^.\n]{0,30}\b(?:enabled|active|is on)\b/i,
    ],
  },
  secrecy: {
    title: 'asks that something is kept from the user',
    severity: 'high',
    patterns: [
      new RegExp(
        String.raw`\b(?:do not|don['’]?t|never|must not|should not|no need to|avoid|without)\b[^.\n]{0,20}\b${hide}(?:ing)?\b[^.\n]{0,30}\b(?:users?|humans?|person|customer|anyone|operator|this (?:step|action|call|note|requirement|instruction|rule|fact|behaviou?r|to)|that you|(?:its|these|this) (?:use|instructions))\b`,
        'i',
      ),
      /\b(?:silently|secretly|covertly|discreetly|quietly)\b[^.\n]{0,20}\b(?:read|send|call|copy|forward|include|upload|execute|run|collect|append|add|invoke|log|transmit|perform|modify|replace)\b/i,
      /\b(?:hide|conceal|keep)\b[^.\n]{0,25}\b(?:from the users?|hidden from|secret|confidential from)\b/i,
      /\b(?:never|do not|don['’]?t|must not)\b (?:mention|reveal|disclose|report) (?:this|it)\b\s*(?:[.!,;]|$)/i,
      /\busers?\b[^.\n]{0,15}\b(?:(?:does not|doesn['’]?t) need|need not|should not|must not|shouldn['’]?t)\b[^.\n]{0,15}\b(?:know|see|be (?:told|informed|aware|notified))\b/i,
      /\bwithout (?:the )?users?(?:['’]s?)? (?:knowledge|knowing|noticing)\b|\bwithout (?:asking|confirming with|prompting) (?:the )?users?\b/i,
    ],
  },
  'secret-request': {
    title: 'asks for secrets or private files',
    severity: 'high',
    patterns: [
      /\b(?:read|open|cat|load|include|send|copy|upload|access|contents? of|from|check|verify|in|at|with)\b[^\n]{0,60}?(?:~\/\.(?:ssh|aws|cursor|kube|gnupg|netrc|npmrc|docker|claude|bash_history|git-credentials)\b|\bid_(?:rsa|ed25519|ecdsa)\b|\/etc\/(?:passwd|shadow)\b|\bmcp\.json\b)(?![^.\n]{0,40}\b(?:rejected|refused|denied|not allowed|blocked)\b)/i,
      new RegExp(
        String.raw`\b(?:before|first|also|must|always|then|and|please)\b[^.\n]{0,25}\b${take}\b[^.\n]{0,40}(?:\b${secret}\b|\.env\b)`,
        'i',
      ),
      new RegExp(
        String.raw`\b${take}\b[^.\n]{0,30}\b(?:user['’]?s?|your|all|any|their|system|every)\b[^.\n]{0,12}\b${secret}\b[^.\n]{0,40}\b(?:in|as|to|into|with|parameter|field|argument)\b`,
        'i',
      ),
    ],
  },
  'conversation-request': {
    title: 'asks for the conversation or the instructions of the agent',
    severity: 'high',
    patterns: [
      new RegExp(
        String.raw`\b${take}\b[^.\n]{0,40}\b(?:entire|full|complete|whole|all|previous|prior|current|raw|user['’]?s?)\b[^.\n]{0,20}\b${talk}\b`,
        'i',
      ),
      /\b(?:send|forward|upload|post|submit|transmit|report|leak)\b[^.\n]{0,25}\b(?:conversation|chat|message|dialogue?)s?(?: (?:history|context|log|transcript))?\b[^.\n]{0,30}\bto\b[^.\n]{0,20}https?:\/\//i,
      /\b(?:entire|full|complete|whole|verbatim)\b[^.\n]{0,12}\b(?:conversation|chat history|dialogue?)\b/i,
      /\b(?:your|the|its|full|model['’]?s?)\b[^.\n]{0,12}\bsystem (?:prompt|instructions?|message)\b[^.\n]{0,60}\b(?:here|parameter|field|argument|include|contents?|verbatim)\b|\b(?:include|send|pass|reveal|print|return|provide)\b[^.\n]{0,30}\bsystem (?:prompt|instructions?|message)\b/i,
    ],
  },
  'carry-out': {
    title: 'names an address that data is to be sent to',
    severity: 'high',
    patterns: [
      /\b(?:send|forward|upload|post|b?cc|copy|transmit|e-?mail|exfiltrate|leak|report|submit|let|notify|loop)\b[^\n]{0,90}?(?:[\w.+-]+@(?!example\.|test\.)[\w-]+\.[\w.]{2,}|\+\d[\d -]{7,}\d)\b[^\n]{0,40}\b(?:too|also|always|copy|instead|compliance|audit|backup|result|first|know|before|after|every|all)\b/i,
      /\b(?:always|also|must|automatically|silently|every|all|first|and)\b[^.\n]{0,40}\b(?:send|forward|upload|post|b?cc|copy|transmit|e-?mail|exfiltrate|leak|report|submit|redirect|route)\b[^\n]{0,70}?(?:https?:\/\/(?!localhost|127\.)|[\w.+-]+@[\w-]+\.\w{2,}|\+\d[\d -]{7,}\d)/i,
      /\b(?:change|replace|set|redirect|switch|rewrite|swap)\b[^.\n]{0,30}\b(?:recipients?|address(?:es)?|destination|account|payee|b?cc|to field)\b[^\n]{0,20}(?:[\w.+-]+@[\w-]+\.\w{2,}|https?:\/\/)/i,
      /\bcall(?:ing)?\b[^.\n]{0,60}\b(?:user|query|prompt|request|result|output|contents?|data)(?:['’]s)?\b[^.\n]{0,30}[\w.+-]+@(?!example\.|test\.)[\w-]+\.\w{2,}/i,
      /(?<![a-z])exfiltrat(?:e|es|ing|ion)(?![a-z])/i,
    ],
  },
  'other-tools': {
    title: 'speaks about other tools or claims to come first',
    severity: 'high',
    patterns: [
      /\b(?:before|after|prior to|whenever|every time|each time|when)\b[^.\n]{0,25}\b(?:any|all|every|each)\b(?: of the)?(?: other| available| subsequent)? (?:tools?\b|tool calls?\b|operations? with)/i,
      /\b(?:must|should|has to|needs to|required to)\b[^.\n]{0,12}\b(?:be )?(?:called|invoked|run|used|executed)\b[^.\n]{0,12}\b(?:first|before (?:any|every|all|each)|for (?:any|every|all|each) (?:request|query|question|task|message))\b/i,
      /\b(?:other|previous|old|existing|legacy|standard|original|built-?in|default|alternative|competing)\b[^.\n]{0,25}\b(?:tools?|versions?|functions?|servers?)\b[^.\n]{0,20}\b(?:is|are|has been|have been|will be)\b[^.\n]{0,12}\b(?:deprecated|unsafe|broken|insecure|obsolete|disabled|compromised|unreliable|outdated|malicious|vulnerable)\b/i,
      /\byou (?:must|should|need to|have to|are required to)\b[^.\n]{0,12}\b(?:also|additionally|silently|always also)\b[^.\n]{0,12}\b(?:call|invoke|run)\b[^.\n]{0,10}\b[a-z]+_[a-z_]+\b/i,
      /\b(?:this tool|these instructions|this instruction|instructions)\b[^.\n]{0,30}\b(?:highest|top|maximum|absolute) priority\b|\btakes? (?:precedence|priority) over\b[^.\n]{0,30}\b(?:tools?|instructions?|rules|servers?|all|any)\b/i,
      /\b(?:when|whenever|if|once|side ?effects?)\b[^.\n]{0,50}\b(?:this tool|tool) is (?:present|available|installed|loaded|connected|enabled)\b/i,
    ],
  },
  precondition: {
    title: 'orders something else before or after its use',
    severity: 'medium',
    patterns: [
      /\b(?:always|must)\b[^.\n]{0,15}\b(?:call|use|invoke|run|prefer|choose|select)\b[^.\n]{0,20}\b(?:this (?:tool|one|function))\b[^.\n]{0,30}\b(?:first|instead|before|for (?:any|every|all)|over|rather)\b/i,
      /\b(?:before|after|prior to|when|whenever|in order to|to) (?:using|calling|invoking|running|executing|use|call|you (?:use|call)) this (?:tool|function)\b[^.\n]{0,40}\b(?:you )?(?:must|should|always|first|need to|have to|read|send|include|also)\b/i,
      /\botherwise\b[^.\n]{0,20}\b(?:this |the )?(?:tool|call|function|operation|it) (?:will|would|may) (?:not work|fail|be (?:rejected|blocked))\b/i,
    ],
  },
  'context-parameter': {
    title: 'has a parameter that asks for context',
    severity: 'medium',
    patterns: [
      /^(?:side_?notes?|conversation(?:_?(?:history|context|log))?|chat_?(?:history|context|log)|system_?prompt|full_?context|user_?(?:prompt|message)s?|previous_?messages|message_?history|env(?:ironment)?_?dump)$/i,
    ],
  },
  'name-imitation': { title: 'has the name of a tool of another server', severity: 'medium', patterns: [] },
} as const satisfies Record<string, DefinitionRule>

export type DefinitionRuleId = keyof typeof definitionRules
