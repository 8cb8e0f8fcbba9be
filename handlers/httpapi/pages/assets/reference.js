// Renders the contract with Swagger UI. All requests go to this service.
"use strict";

// streams reports whether an operation returns an event stream, which Swagger UI cannot show.
function streams(spec, path, method) {
  const operation = spec?.paths?.[path]?.[method];
  return Object.values(operation?.responses ?? {}).some((r) => r.content?.["text/event-stream"]);
}

async function render() {
  const response = await fetch("/v1/openapi.json");
  if (!response.ok) throw new Error(`GET /v1/openapi.json returned status ${response.status}`);
  const spec = await response.json();
  // Send requests to the host of this page, which may differ from the public URL.
  spec.servers = [{ url: location.origin, description: "This service." }];
  SwaggerUIBundle({
    spec,
    domNode: document.getElementById("reference"),
    validatorUrl: null,
    deepLinking: true,
    filter: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    requestSnippetsEnabled: true,
    // Do not store API keys in the browser.
    persistAuthorization: false,
    plugins: [
      {
        statePlugins: {
          spec: {
            wrapSelectors: {
              allowTryItOutFor: () => (_state, path, method) => !streams(spec, path, method),
            },
          },
        },
      },
    ],
  });
}

render().catch((error) => {
  document.getElementById("reference").textContent = `Cannot show the reference: ${error.message}`;
});
