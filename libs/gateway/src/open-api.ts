import { problemSchema } from '@hangar/contracts';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import { z } from 'zod';

export function openApiDocument(app: NestExpressApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('hangar')
    .setDescription(
      'Durable sessions for coding agents. JSON in snake_case; errors as problem+json.',
    )
    .setVersion('1')
    .setOpenAPIVersion('3.1.0')
    .addBearerAuth({ type: 'http', scheme: 'bearer' });
  const document = SwaggerModule.createDocument(app, builder.build());
  const { $schema: _, $defs, ...schema } = z.toJSONSchema(problemSchema);
  const problem = $defs?.['Problem'] ?? schema;
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: problem as object },
  };
  return document;
}

/**
 * Scripts of this page stand beside the console's token: it may call nothing but its own server, and
 * stand in no other page. Its own words are in the page, which is what `unsafe-inline` allows.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** /api/openapi.json, and a page to read it at /api/docs; both without a token. */
export function serveOpenApi(app: NestExpressApplication): void {
  app.use('/api/docs', (_request: Request, response: Response, next: NextFunction) => {
    response.set({ 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' });
    next();
  });
  SwaggerModule.setup('api/docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'api/openapi.json',
    yamlDocumentUrl: 'api/openapi.yaml',
  });
}
