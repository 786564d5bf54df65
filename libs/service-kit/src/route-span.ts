import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { context, trace } from '@opentelemetry/api';
import { getRPCMetadata, RPCType } from '@opentelemetry/core';
import type { Observable } from 'rxjs';

/**
 * Names the HTTP server span after its route (`POST /api/sessions/:id/send`); the OpenTelemetry
 * package for Nest does not know Nest 12.
 */
export class RouteSpan implements NestInterceptor {
  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    const metadata = getRPCMetadata(context.active());
    if (execution.getType() === 'http' && metadata?.type === RPCType.HTTP) {
      const request = execution.switchToHttp().getRequest<{ route?: { path?: string } }>();
      const route = request.route?.path;
      if (route) metadata.route = route;
      const handler = `${execution.getClass().name}.${execution.getHandler().name}`;
      trace.getActiveSpan()?.setAttribute('code.function.name', handler);
    }
    return next.handle();
  }
}
