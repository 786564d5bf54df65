import type { CardDocument, SessionDocument } from '@hangar/contracts';
import { refused } from '../../failure.ts';
import type { Output } from '../../output/output.ts';
import { agoText } from '../../output/quantities.ts';
import { harmless } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { toolText } from './tool-text.ts';

/** Questions and decisions: cards that an answer closes. */
export const isAsk = ({ kind }: CardDocument): boolean =>
  kind === 'question' || kind === 'decision';

export const openAsks = ({ attention }: SessionDocument): CardDocument[] => attention.filter(isAsk);

export const isCardId = (word: string | undefined): word is string =>
  word !== undefined && /^card-[0-9a-f]{8}$/.test(word);

/** The one card that is meant where none is named. */
export function onlyCard(cards: CardDocument[], session: SessionDocument): CardDocument {
  const [card, ...others] = cards;
  if (!card)
    throw refused(
      `Nothing of the kind waits on you in ${session.name}.`,
      `See hangar session get ${session.name}.`,
    );
  if (others.length > 0)
    throw refused(
      `${cards.length} cards wait in ${session.name}.`,
      `Name one of: ${cards.map(({ id }) => id).join(', ')}.`,
    );
  return card;
}

export const cardColumns = (now: Date): Column<CardDocument>[] => [
  { title: 'CARD', show: (card) => card.id, tone: () => 'strong' },
  { title: 'KIND', show: (card) => card.kind },
  { title: 'SINCE', show: (card) => agoText(card.since, now), value: (card) => card.since },
  { title: 'CHOICES', show: (card) => card.choices.join(', '), shrinks: true },
  { title: 'TEXT', show: (card) => card.text, shrinks: true },
];

/** A card for a person, with the commands that answer it. */
export function showCard(output: Output, card: CardDocument, name: string): void {
  const { paint } = output;
  if (!isAsk(card)) {
    const choices = card.choices.length > 0 ? ` [${card.choices.join(' | ')}]` : '';
    output.line(`${paint('warn', `! ${card.kind}`)} ${harmless(card.text)}${choices}`);
    return;
  }
  const head = `! ${card.kind} ${card.id}`;
  if (card.kind === 'decision') {
    output.line(`${paint('warn', head)} ${harmless(card.text)}`);
    if (card.tool)
      output.line(`  ${paint('strong', harmless(toolText(card.tool.name, card.tool.input)))}`);
    output.line(paint('quiet', `  hangar session decide ${name} ${card.id} allow|deny`));
    return;
  }
  const [only, ...others] = card.questions;
  output.line(paint('warn', head));
  for (const question of card.questions) {
    const id = others.length > 0 ? `${harmless(question.id)}: ` : '';
    output.line(`  ${id}${harmless(question.text)}`);
    showChoices(output, question);
  }
  const how =
    others.length > 0
      ? card.questions.map(({ id }) => `--answer ${harmless(id)}=TEXT`).join(' ')
      : only?.choices.length
        ? 'CHOICE'
        : 'TEXT';
  output.line(paint('quiet', `  hangar session answer ${name} ${card.id} ${how}`));
}

export function showChoices(output: Output, { choices }: CardDocument['questions'][number]): void {
  for (const [index, { label, description }] of choices.entries()) {
    const more = description === '' ? '' : `  ${output.paint('quiet', harmless(description))}`;
    output.line(`    ${index + 1}  ${harmless(label)}${more}`);
  }
}
