package dev.weir.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.openqa.selenium.Keys;

/** Finds out what a page shows, and which barriers it has, with scripts in the browser. */
final class PageProbe {

    private static final int MAX_CONTROLS = 120;

    /** Whether the focus has left the page or is at the beginning again. */
    private static final String IS_AT_END = """
            const e = document.activeElement;
            return reached.length > 0 && (e === document.body || reached.slice(0, -1).includes(e))""";

    /** Records the focused element. Returns what is wrong with it. */
    private static final String REACHED = """
            const e = document.activeElement;
            const before = reached.at(-1);
            reached.push(e);
            if (e === document.body || before === undefined || e === reached[0]) {
              return [];
            }
            const box = e.getBoundingClientRect();
            const hit = document.elementFromPoint(box.left + Math.min(20, box.width / 2), box.top + box.height / 2);
            const is = {
              'out of order': !(before.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING),
              'not marked': [e, e.parentElement].every(one => getComputedStyle(one).outlineStyle === 'none'),
              covered: hit === null || !(e.contains(hit) || hit.contains(e)),
            };
            return Object.keys(is).filter(key => is[key]).map(key => key + ': ' + e.outerHTML)""";

    private final Browser browser;

    PageProbe(Browser browser) {
        this.browser = browser;
    }

    /**
     * Moves the focus through the page with the tabulator.
     *
     * @return what is wrong with the order or the mark of the focus, or the controls that it did not reach
     */
    List<?> keyboardFaults() {
        browser.run("window.reached = []");
        for (int i = 0; i < MAX_CONTROLS && !(Boolean) browser.run(IS_AT_END); i++) {
            browser.press(Keys.TAB);
            List<?> faults = (List<?>) browser.run(REACHED);
            if (!faults.isEmpty()) {
                return faults;
            }
        }
        return (List<?>) browser.run("""
                return [...document.querySelectorAll('a[href], button, input, textarea, summary, [tabindex="0"]')]
                    .filter(e => e.checkVisibility() && !e.disabled && !reached.includes(e)).map(e => e.outerHTML)""");
    }

    /** Returns the elements whose text has too little contrast with its background. */
    List<?> textWithLittleContrast() {
        return (List<?>) browser.run("""
                const parse = text => text.match(/[\\d.]+/g).map(Number);
                const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
                    .map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
                    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
                const ground = element => {
                  for (let e = element; e; e = e.parentElement) {
                    const colour = parse(getComputedStyle(e).backgroundColor);
                    if (colour.length === 3 || colour[3] === 1) {
                      return colour;
                    }
                  }
                  return [255, 255, 255];
                };
                return [...document.querySelectorAll('body *')]
                    .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim() !== ''))
                    .map(e => [e, light(parse(getComputedStyle(e).color)), light(ground(e))])
                    .map(([e, a, b]) => [e, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)])
                    .filter(([, contrast]) => contrast < 4.5)
                    .map(([e, contrast]) => e.className + ' ' + e.textContent + ' ' + contrast)""");
    }

    /** Returns what axe finds. */
    List<?> barriers() throws IOException {
        try (InputStream axe =
                PageProbe.class.getResourceAsStream("/META-INF/resources/webjars/axe-core/4.6.3/axe.min.js")) {
            browser.run(new String(axe.readAllBytes(), StandardCharsets.UTF_8));
        }
        List<?> barriers = (List<?>) browser.run("""
                return axe.run().then(({violations}) => violations.map(({id, help, nodes}) =>
                    `${id}: ${help}: ${nodes.map(({html}) => html).join(' ')}`))""");
        assertThat(browser.complaints()).allMatch(complaint -> complaint.contains("willReadFrequently")); // of axe
        return barriers;
    }

    /** Returns the last value of each line of a chart. */
    Object lastDrawn(String title) {
        return browser.run("""
                const canvas = [...document.querySelectorAll('canvas')]
                    .find(canvas => canvas.getAttribute('aria-label').startsWith(arguments[0]));
                return Chart.getChart(canvas).data.datasets.map(({data}) => data.at(-1).y)""", title);
    }

    String legend(String title) {
        return (String) browser.run("""
                return [...document.querySelectorAll('.chart')].find(chart => chart.innerText.startsWith(arguments[0]))
                    .querySelector('.legend').innerText.replaceAll(/\\s+/g, ' ').trim()""", title);
    }

    /** Returns the labels of the vertical axis of a chart. */
    String axis(String title) {
        return (String) browser.run("""
                const canvas = [...document.querySelectorAll('canvas')]
                    .find(canvas => canvas.getAttribute('aria-label').startsWith(arguments[0]));
                return Chart.getChart(canvas).scales.y.ticks.map(({label}) => label).filter(label => label).join(', ')""", title);
    }
}
