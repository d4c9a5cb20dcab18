// Elements without a framework. What anybody said goes in as text, never as markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(3).filter((child) => child != null && child !== false));
  return element;
}

export const button = (label, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, label);

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Grow the one text of an element where the new one begins with it: a selection in it stays.
export function growText(element, text) {
  const node = element.firstChild;
  if (node?.nodeType === Node.TEXT_NODE && element.childNodes.length === 1 && text.startsWith(node.data)) {
    if (text.length > node.data.length) node.appendData(text.slice(node.data.length));
  } else setText(element, text);
}

// Children by key: kept where they are, moved only where their order changed. `make(value)` gives
// {element, update(value)}; update is called for values that are other objects than before.
export function keyed(parent, entries, make) {
  const known = parent.__keyed ?? new Map();
  const next = new Map();
  let place = parent.firstChild;
  for (const [key, value] of entries) {
    const view = known.get(key) ?? make(value);
    if (view.value !== value) {
      view.value = value;
      view.update(value);
    }
    next.set(key, view);
    known.delete(key);
    if (view.element === place) place = place.nextSibling;
    else parent.insertBefore(view.element, place);
  }
  for (const view of known.values()) view.element.remove();
  parent.__keyed = next;
}

export const $ = (id) => document.getElementById(id);
