import { memo } from 'react';
import { Anchor, Code } from '@mantine/core';
import { blocksOf, spansOf, type Block, type Span } from '../lib/markdown-blocks.ts';
import styles from './markdown.module.css';

/** What an agent says. Made of elements, never of HTML: nothing in it can act. */
export const Markdown = memo(({ text }: { text: string }) => (
  <div className={styles.text}>
    {blocksOf(text).map((block, index) => (
      <BlockView key={index} block={block} />
    ))}
  </div>
));

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case 'code':
      return (
        <Code block className={styles.code} tabIndex={0}>
          {block.text}
        </Code>
      );
    case 'heading':
      return (
        <p>
          <b>
            <Inline text={block.text} />
          </b>
        </p>
      );
    case 'list': {
      const items = block.items.map((item, index) => (
        <li key={index}>
          <Inline text={item} />
        </li>
      ));
      return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case 'quote':
      return (
        <blockquote>
          <Inline text={block.text} />
        </blockquote>
      );
    case 'paragraph':
      return (
        <p>
          <Inline text={block.text} />
        </p>
      );
  }
}

const Inline = ({ text }: { text: string }) => (
  <>
    {spansOf(text).map((span, index) => (
      <SpanView key={index} span={span} />
    ))}
  </>
);

function SpanView({ span }: { span: Span }) {
  switch (span.kind) {
    case 'text':
      return <>{span.text}</>;
    case 'code':
      return <Code>{span.text}</Code>;
    case 'strong':
      return <b>{span.text}</b>;
    case 'emphasis':
      return <em>{span.text}</em>;
    case 'link':
      return (
        <Anchor
          href={span.url}
          target="_blank"
          rel="noopener noreferrer"
          inherit
          underline="always"
        >
          {span.text}
        </Anchor>
      );
  }
}
