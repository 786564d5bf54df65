/** The little of Markdown that agents use in what they say; all else is text as it is. */
export type Block =
  | { kind: 'code'; language: string; text: string }
  | { kind: 'heading'; text: string }
  | { kind: 'list'; isOrdered: boolean; items: string[] }
  | { kind: 'quote'; text: string }
  | { kind: 'paragraph'; text: string };

export type Span =
  | { kind: 'text' | 'code' | 'strong' | 'emphasis'; text: string }
  | { kind: 'link'; text: string; url: string };

const FENCE = /^\s*(`{3,}|~{3,})\s*([\w+-]*)/;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split('\n');
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    if (fence) {
      const end = closingFence(lines, at + 1, fence[1] ?? '```');
      blocks.push({
        kind: 'code',
        language: fence[2] ?? '',
        text: lines.slice(at + 1, end).join('\n'),
      });
      at = end + 1;
    } else if (line.trim() === '') at += 1;
    else {
      const block = startOf(line);
      at += 1;
      for (; at < lines.length && goesOn(block, lines[at] ?? ''); at += 1)
        addLine(block, lines[at] ?? '');
      blocks.push(block);
    }
  }
  return blocks;
}

/** The line of the closing fence; the end of the text while it is still being written. */
function closingFence(lines: string[], from: number, fence: string): number {
  const end = lines.findIndex((line, index) => index >= from && line.trim().startsWith(fence));
  return end < 0 ? lines.length : end;
}

function startOf(line: string): Block {
  const heading = /^#{1,6}\s+(.*)$/.exec(line);
  if (heading) return { kind: 'heading', text: heading[1] ?? '' };
  const item = ITEM.exec(line);
  if (item) return { kind: 'list', isOrdered: item[1] !== undefined, items: [item[2] ?? ''] };
  if (line.startsWith('>')) return { kind: 'quote', text: line.replace(/^>\s?/, '') };
  return { kind: 'paragraph', text: line };
}

function goesOn(block: Block, line: string): boolean {
  if (block.kind === 'heading' || line.trim() === '' || FENCE.test(line)) return false;
  if (block.kind === 'list') return ITEM.test(line) || /^\s{2,}/.test(line);
  return startOf(line).kind === block.kind;
}

function addLine(block: Block, line: string): void {
  if (block.kind === 'list') {
    const item = ITEM.exec(line);
    if (item) block.items.push(item[2] ?? '');
    else block.items[block.items.length - 1] += ` ${line.trim()}`;
  } else if (block.kind !== 'code') {
    block.text += `\n${block.kind === 'quote' ? line.replace(/^>\s?/, '') : line}`;
  }
}

const SPAN =
  /`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])[*_]([^*_\s][^*_]*)[*_](?!\w)|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)\]]*[^\s<>)\].,;:!?])/g;

export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const match of text.matchAll(SPAN)) {
    if (match.index > at) spans.push({ kind: 'text', text: text.slice(at, match.index) });
    const [whole, code, strong, emphasis, label, target, url] = match;
    if (code !== undefined) spans.push({ kind: 'code', text: code });
    else if (strong !== undefined) spans.push({ kind: 'strong', text: strong });
    else if (emphasis !== undefined) spans.push({ kind: 'emphasis', text: emphasis });
    else spans.push({ kind: 'link', text: label ?? url ?? '', url: target ?? url ?? '' });
    at = match.index + whole.length;
  }
  if (at < text.length) spans.push({ kind: 'text', text: text.slice(at) });
  return spans;
}
