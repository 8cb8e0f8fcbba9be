// Renders the contract and sends the requests that a reader tries. Everything comes from
// and goes to this service alone.
"use strict";

// streams tells an operation whose response has no end: it cannot be shown as one.
function streams(spec, path, method) {
  const operation = spec?.paths?.[path]?.[method];
  return Object.values(operation?.responses ?? {}).some((r) => r.content?.["text/event-stream"]);
}

async function render() {
  const response = await fetch("/v1/openapi.json");
  if (!response.ok) throw new Error(`the contract answers ${response.status}`);
  const spec = await response.json();
  // Wherever the reader found this page is where the requests go.
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
    // A key is kept by nobody: it is gone with the page.
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
  document.getElementById("reference").textContent = `The reference could not be shown: ${error.message}`;
});
