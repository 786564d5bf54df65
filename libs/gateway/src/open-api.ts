import { problemSchema } from '@hangar/contracts';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
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

/** /api/openapi.json, and a page to read it at /api/docs; both without a token. */
export function serveOpenApi(app: NestExpressApplication): void {
  SwaggerModule.setup('api/docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'api/openapi.json',
    yamlDocumentUrl: 'api/openapi.yaml',
  });
}
