# One image with every service; what runs is the command. Built from a checkout: docker build -t hangar .
FROM node:24-bookworm AS build
WORKDIR /app
COPY . .
RUN npm ci --no-audit --no-fund && npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
# git, tar, bubblewrap, setpriv: for the local driver, which makes sandboxes in this container.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates git procps tar util-linux zstd \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app /app
ENV HANGAR_STATE=/var/lib/hangar NODE_ENV=production
VOLUME /var/lib/hangar
# Traces need the import; it does nothing while no OTEL_* variable asks for them.
ENTRYPOINT ["node", "--import", "/app/libs/service-kit/dist/register.js"]
CMD ["apps/gateway/dist/main.js"]
