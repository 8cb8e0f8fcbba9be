// Package pages renders the HTML pages: the documentation, the home page and the claim page.
//
// It does not handle requests. The operations of httpapi read the values of a page, call
// this package and send the page. No page runs an inline script or loads anything from
// another host, and no other site may frame one.
//
// It may import domain/fault, domain/query, docs and handlers/httpapi/reference. It never
// imports httpapi or its edge.
package pages
